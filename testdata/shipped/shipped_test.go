package shipped

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		e    Ending
		want string
	}{
		{Ending{Code: 3, Text: "hermes-batch: store failed: no space left on device\n"}, ""},
		{Ending{Code: 3, Text: "0/9 prompts\n"}, "did not say why"},
		{Ending{Code: 1, Text: "hermes-batch: odd\n"}, "ended with exit code 1"},
		{Ending{Code: 3, Text: "hermes-batch: panic: index out of range\n"}, "said"},
		{Ending{Code: 3, Text: "hermes-batch: x\ngoroutine 1 [running]:\n"}, "said"},
		{Ending{Code: 3, Text: "hermes-batch: x\n2026/11/29 19:08:46 Unsolicited response\n"}, "said"},
		{Ending{Code: -1, By: syscall.SIGSEGV}, "segmentation fault"},
	} {
		if got := strings.Join(tt.e.Wrong(3), "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q", tt.e, got)
		}
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	got := Environment([]string{"PATH=/bin", "HERMES_BATCH_MODEL=x", "OPENAI_API_KEY=k", "HOME=/h"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/h" {
		t.Errorf("environment %v", got)
	}
}

// How a call ended and what it printed is told, and what it left is found.
func TestCalls(t *testing.T) {
	dir, err := Folder(t.TempDir(), "x")
	if err != nil {
		t.Fatal(err)
	}
	sh := Binary{Path: "/bin/sh", Dir: dir, Wrap: []string{"/usr/bin/env", "HOME=" + dir + "/work"}, Env: []string{"A=1"}, Patience: time.Minute}
	e, err := sh.Run("-c", "pwd; echo $A; exit 3")
	if err != nil || e.Code != 3 || e.By != 0 || e.Text != dir+"\n1\n" {
		t.Errorf("a call ended as %v, %v", e, err)
	}
	c, err := sh.Start("-c", "sleep 300 & echo > ready; wait")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			break
		}
		if c.Within(time.Millisecond) {
			t.Fatal(c.Wait())
		}
	}
	if e := c.Kill(); e.Code != -1 || e.By != syscall.SIGKILL {
		t.Errorf("a killed call ended as %v", e)
	}
	if n := KillAll(dir); n != 1 {
		t.Errorf("%d processes were left", n)
	}
	if left := Left(dir); left != nil {
		t.Errorf("left are %q", left)
	}
}
