package figures

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Machine is what figures depend on. What the system does not tell is empty.
type Machine struct {
	Cores      int           `json:"cores"`
	CPU        string        `json:"cpu"`
	Memory     int64         `json:"memory_bytes"`
	Kernel     string        `json:"kernel"`
	Go         string        `json:"go"`
	FileSystem string        `json:"file_system"`
	Sync       time.Duration `json:"sync_ns"` // median of a small write and fsync
	Load       float64       `json:"load"`    // processes that wanted to run in the last minute
	At         time.Time     `json:"at"`
}

// ReadMachine tells the facts of this machine and of the disk that holds a
// folder, which it writes to.
func ReadMachine(dir string) (m Machine, err error) {
	m = Machine{Cores: runtime.NumCPU(), CPU: runtime.GOARCH, Go: runtime.Version(), At: time.Now().UTC().Truncate(time.Second)}
	if model := field(read("/proc/cpuinfo"), "model name"); model != "" {
		m.CPU = model
	}
	kb, _ := strconv.ParseInt(strings.TrimSuffix(field(read("/proc/meminfo"), "MemTotal"), " kB"), 10, 64)
	m.Memory = kb << 10
	m.Kernel = strings.TrimSpace(read("/proc/sys/kernel/osrelease"))
	first, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	m.Load, _ = strconv.ParseFloat(first, 64)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return m, err
	}
	m.FileSystem = fileSystem(read("/proc/self/mounts"), dir)
	m.Sync, err = measureSync(dir)
	return m, err
}

// Print prints the facts and an empty line.
func (m Machine) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", m.line())
}

func (m Machine) line() string {
	busy := ""
	if m.Load > float64(m.Cores)/2 {
		busy = ": it was busy, so the figures are too bad, and swing"
	}
	return fmt.Sprintf("%d × %s, %.1f GB, Linux %s, %s, %s, %v for a write of 4 KB and fsync; %s, load %.2f at the start%s",
		m.Cores, m.CPU, float64(m.Memory)/1e9, m.Kernel, m.Go, m.FileSystem, m.Sync.Round(time.Microsecond), m.At.Format("2006-01-02"), m.Load, busy)
}

func read(path string) string {
	text, _ := os.ReadFile(path) // what is not there is not told
	return string(text)
}

// field finds the value of the first line "name : value".
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fileSystem finds the type of the mount that holds a folder.
func fileSystem(mounts, dir string) (kind string) {
	longest := 0
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 3 || len(f[1]) < longest {
			continue
		}
		if f[1] == "/" || dir == f[1] || strings.HasPrefix(dir, f[1]+"/") {
			longest, kind = len(f[1]), f[2]
		}
	}
	return kind
}

// measureSync is the median time of a write of a page and its fsync.
func measureSync(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page, took := make([]byte, 4096), make([]time.Duration, 100)
	for i := range took {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return Quantile(took, 0.5), nil
}
