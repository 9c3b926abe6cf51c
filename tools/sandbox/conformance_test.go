package sandbox_test

import (
	"path/filepath"
	"testing"

	"hermes-batch/tools/sandbox"
	"hermes-batch/tools/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, func(t *testing.T) sandbox.Sandbox {
		l, err := sandbox.OpenLocal(sandbox.LocalOptions{Base: filepath.Join(t.TempDir(), "box")})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}
