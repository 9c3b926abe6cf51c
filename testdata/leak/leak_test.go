package leak

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Check(m.Run())) }

// A goroutine and a file that are left are named, and not once they are gone.
func TestLeft(t *testing.T) {
	named := func() string {
		left := strings.Join(Left(), "\n")
		goroutines, pipes := strings.Count(left, "leak.wait("), strings.Count(left, "pipe:")
		return strings.Repeat("goroutine ", goroutines) + strings.Repeat("pipe ", pipes)
	}
	if left := named(); left != "" {
		t.Errorf("at first %s", left)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan bool)
	go wait(r, begun)
	<-begun
	if left := named(); left != "goroutine pipe pipe " {
		t.Errorf("left is %s", left)
	}
	w.Close()
	for range 10_000 { // the goroutine has something to do yet
		if runtime.Gosched(); !strings.Contains(named(), "goroutine") {
			break
		}
	}
	r.Close()
	if left := named(); left != "" {
		t.Errorf("at last %s", left)
	}
	if code := Check(3); code != 3 {
		t.Errorf("failed tests end with %d", code)
	}
}

func wait(r *os.File, begun chan<- bool) {
	begun <- true
	r.Read(make([]byte, 1))
}
