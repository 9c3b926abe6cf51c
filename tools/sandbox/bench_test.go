package sandbox

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkExecEcho measures what one command costs: wall time, and the CPU
// time of this program and of everything that it starts.
func BenchmarkExecEcho(b *testing.B) {
	l, err := OpenLocal(LocalOptions{Base: filepath.Join(b.TempDir(), "s")})
	if err != nil {
		b.Fatal(err)
	}
	before := cpu(b)
	var shell Shell
	for i := 0; b.Loop(); i++ {
		r, err := l.Exec(context.Background(), Command{Key: fmt.Sprint(i), Script: "echo hi", Shell: shell, Timeout: time.Minute})
		if err != nil || string(r.Output) != "hi\n" {
			b.Fatalf("%+v, %v", r, err)
		}
		shell = r.Shell
	}
	if err := l.Close(context.Background(), true); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpu(b)-before)/1e6/float64(b.N), "cpu-ms/op")
}

// cpu is the CPU time in ns of this process and of its children that ended.
func cpu(b *testing.B) int64 {
	var sum int64
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += u.Utime.Nano() + u.Stime.Nano()
	}
	return sum
}
