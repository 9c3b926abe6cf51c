package engine

import (
	"testing"
)

func TestDisk(t *testing.T) {
	if err := checkDisk("/nowhere"); err != nil {
		t.Errorf("a disk that is not known: %v", err)
	}
	if err := checkDisk(t.TempDir()); err != nil && stopReason(err) != stopDisk {
		t.Errorf("error %v", err)
	}
}
