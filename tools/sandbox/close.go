package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Close implements Sandbox. Commands that still run are ended without a
// result. If ctx ends first, what is left is killed at once.
func (l *Local) Close(ctx context.Context, remove bool) error {
	l.closing.Lock()
	defer l.closing.Unlock()
	l.mu.Lock()
	first := !l.closed
	if first {
		l.closed = true
		close(l.stopping)
	}
	l.mu.Unlock()
	l.calls.Wait()
	var err error
	if first {
		err = l.endAll(ctx)
	}
	if remove && err == nil {
		err = removeTree(l.base)
	}
	if err != nil {
		return fmt.Errorf("close sandbox %s: %w", l.base, err)
	}
	return nil
}

// endAll ends every process of the sandbox. The process table is searched only
// if something did not end as it should.
func (l *Local) endAll(ctx context.Context) error {
	l.mu.Lock()
	var runs []*run
	for r := range l.alive {
		runs = append(runs, r)
	}
	l.mu.Unlock()
	for _, r := range runs {
		r.stop()
	}
	limit := time.After(stopGrace + killLimit + time.Second)
	for _, r := range runs {
		select {
		case <-r.done:
			continue
		case <-limit:
		case <-ctx.Done():
		}
		_ = r.process.Kill()
		<-r.done
		if err := l.killCall(r.call, r.mark); err != nil {
			return err
		}
	}
	l.mu.Lock()
	dirty := l.dirty
	l.mu.Unlock()
	if l.reopened && l.endOthers(ctx) {
		dirty = true
	}
	if dirty {
		return killMarked(l.markAll())
	}
	return nil
}

// endOthers ends the supervisors that earlier sessions of the program started.
// It says whether one of them may have left processes.
func (l *Local) endOthers(ctx context.Context) (dirty bool) {
	names, err := os.ReadDir(filepath.Join(l.base, callsFolder))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, name := range names {
		c := call{filepath.Join(l.base, callsFolder, name.Name())}
		if held, _ := c.held(); held && !endHolder(ctx, c) {
			dirty = true
		}
		r, begun, err := c.read()
		if err != nil || begun && !r.Program && !r.Ended && r.meaningful() {
			dirty = true
		}
	}
	return dirty
}

// endHolder ends the supervisor that holds a call. The lock says that it lives;
// the pid is used only while it does, and only together with its start time.
func endHolder(ctx context.Context, c call) bool {
	limit := time.Now().Add(stopGrace + killLimit + time.Second)
	for sig := unix.SIGTERM; time.Now().Before(limit); {
		if ctx.Err() != nil {
			sig = unix.SIGKILL
		}
		// One that has just been started may not have said yet who it is.
		if r, begun, _ := c.read(); begun && r.meaningful() {
			_ = process{pid: r.Pid, start: r.Start}.signal(sig)
			r.wake()
		}
		if c.waitFree(50 * time.Millisecond) {
			return sig == unix.SIGTERM
		}
	}
	return false
}

// waitFree waits until no supervisor holds the call, for at most limit.
func (c call) waitFree(limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		if held, err := c.held(); !held && err == nil {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// Sweep removes the sandboxes that lie in dir, one folder each, apart from
// those whose folder's name is to be kept, and ends what still runs in them.
// It returns how many were removed, and goes on after an error. A folder that
// is no sandbox is left alone. A nil keep keeps none.
func Sweep(ctx context.Context, dir string, keep func(name string) bool) (int, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep sandboxes: %w", err)
	}
	removed := 0
	var errs []error
	for _, e := range list {
		if !e.IsDir() || keep != nil && keep(e.Name()) {
			continue
		}
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
		if err := discard(ctx, filepath.Join(dir, e.Name())); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

var errForeign = errors.New("the folder is no sandbox")

// discard removes a sandbox that nobody uses any more, if there is one.
func discard(ctx context.Context, base string) error {
	list, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		switch e.Name() {
		case workFolder, callsFolder, jobsFolder, nonceFile:
		default:
			return fmt.Errorf("remove %s: it holds %q: %w", base, e.Name(), errForeign)
		}
	}
	// One without a nonce was never finished, or is damaged: its supervisors
	// are still known by their locks.
	nonce, boot, _ := readNonce(base)
	return remove(ctx, base, nonce, boot)
}

// Discard removes the sandbox in a folder, of which is known that it had this
// nonce, and ends what still runs in it. Any other folder stays as it is.
func Discard(ctx context.Context, base, nonce string) error {
	found, boot, err := readNonce(base)
	if err != nil || found != nonce {
		return nil
	}
	return remove(ctx, base, nonce, boot)
}

func remove(ctx context.Context, base, nonce, boot string) error {
	l, err := newLocal(LocalOptions{Base: base})
	if err != nil {
		return err
	}
	l.reopened, l.nonce, l.boot = true, nonce, boot
	return l.Close(ctx, true)
}

// removeTree removes a folder, also where a tool has taken away the right to
// do so. It does not follow symbolic links.
func removeTree(base string) error {
	err := os.RemoveAll(base)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(base)
}

// isNameError says whether err is about a name that no file can have.
func isNameError(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.ENOTDIR)
}
