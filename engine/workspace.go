package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hermes-batch/db"
	"hermes-batch/tools"
	"hermes-batch/tools/sandbox"
)

const (
	sandboxLocal  = "local"
	isolationNone = "none"
)

// lostError says that a session's sandbox is not there any more.
type lostError struct{ err error }

func (l *lostError) Error() string { return l.err.Error() }
func (l *lostError) Unwrap() error { return l.err }

// workspace is the sandbox of a session's current attempt, opened when the
// first call needs it.
type workspace struct {
	box      *sandbox.Local
	recorded *db.Sandbox // nil: the attempt has used none
}

// boxFor opens the sandbox if the tool needs one. Its record is durable before
// a call can change it.
func (s *session) boxFor(ctx context.Context, tool tools.Tool) (sandbox.Sandbox, error) {
	if tool.Spec().State == tools.StateNone {
		return nil, nil
	}
	if s.box.box != nil {
		return s.box.box, s.present()
	}
	rec, err := s.openBox(ctx)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		s.append(rec)
		if err := s.durable(); err != nil {
			return nil, err
		}
	}
	return s.box.box, nil
}

// present tells whether the open sandbox and a row's own folder are still there:
// a tool that only reads would take what is gone for empty.
func (s *session) present() error {
	if _, err := os.Stat(s.box.recorded.Folder); errors.Is(err, fs.ErrNotExist) {
		return &lostError{fmt.Errorf("%w: %w", sandbox.ErrLost, err)}
	}
	if err := sandbox.CheckCwd(s.prompt.Cwd); err != nil {
		return &brokenError{err}
	}
	return nil
}

// earlyBox opens the sandbox of a turn whose first call will need it, so that
// turn and sandbox are committed together. It returns the record to commit.
func (s *session) earlyBox(ctx context.Context, turn *db.Turn) (db.Record, error) {
	if s.box.box != nil || s.box.recorded != nil || len(turn.Entry.ToolCalls) == 0 {
		return nil, nil
	}
	tool, offered := s.offer.find(turn.Entry.ToolCalls[0].Name)
	if !offered || tool.Spec().State == tools.StateNone {
		return nil, nil
	}
	rec, err := s.openBox(ctx)
	if rec == nil || err != nil {
		return nil, err
	}
	return rec, nil
}

// reopenBox finds out before a model call is paid for whether the sandbox that
// the session has used is still there.
func (s *session) reopenBox(ctx context.Context) error {
	if s.box.recorded == nil || s.box.box != nil {
		return nil
	}
	_, err := s.openBox(ctx)
	return err
}

// openBox opens the recorded sandbox, or a new one and returns its record.
func (s *session) openBox(ctx context.Context) (*db.Sandbox, error) {
	o := sandbox.LocalOptions{Base: s.boxFolder(), Cwd: s.prompt.Cwd,
		Executable: s.run.deps.Executable, Deadline: s.run.o.PromptTimeout}
	if old := s.box.recorded; old != nil {
		o.Base, o.Nonce = old.Folder, old.Nonce
	}
	box, err := sandbox.OpenLocal(o)
	switch {
	case errors.Is(err, sandbox.ErrLost):
		return nil, &lostError{err}
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &brokenError{fmt.Errorf("open the sandbox: %w", err)}
	}
	s.box.box = box
	if s.box.recorded != nil {
		return nil, nil
	}
	return &db.Sandbox{Kind: sandboxLocal, Folder: o.Base, Nonce: box.Nonce(), Boot: box.Boot(),
		Isolation: box.Isolation(), SharedCwd: box.SharedCwd(), Started: s.run.now(), At: s.run.now()}, nil
}

// boxFolder names the folder of the current attempt.
func (s *session) boxFolder() string {
	return filepath.Join(s.run.workDir, fmt.Sprintf("%d-%d-a%d", s.ord.Index(), s.ord.Rollout(), s.attempt))
}

// leave closes a sandbox whose session goes on in a later run.
func (s *session) leave() {
	if s.box.box == nil {
		return
	}
	s.run.closeBox(s.box.box, false)
	s.box.box = nil
}

// giveUp closes the sandbox of a finished session and removes it unless it is
// to be kept: because the user asked, or because the prompt will be tried
// again.
func (w *workspace) giveUp(s *session, e end) {
	keep := s.run.keeps(e.end, true)
	if w.box == nil && w.recorded != nil && !keep { // an earlier session of the program used it
		if _, err := s.openBox(context.Background()); err != nil {
			s.run.discardBox(w.recorded)
		}
	}
	if w.box == nil {
		return
	}
	s.run.closeBox(w.box, !keep)
	w.box = nil
}

// discard closes and removes the sandbox of an attempt that is given up.
func (w *workspace) discard(s *session) {
	if w.box != nil {
		s.run.closeBox(w.box, true)
	} else if w.recorded != nil {
		s.run.discardBox(w.recorded)
	}
	w.box, w.recorded = nil, nil
}

// discardBox removes a recorded sandbox that cannot be opened. Elsewhere than in
// the run's own folder there may be something else by now, or a store that is
// not ours may lie.
func (r *Run) discardBox(rec *db.Sandbox) {
	folder := filepath.Clean(rec.Folder)
	var err error
	if filepath.Dir(folder) == r.workDir {
		err = os.RemoveAll(folder)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		err = sandbox.Discard(ctx, folder, rec.Nonce)
	}
	if err != nil {
		r.log.Warn("remove sandbox", "folder", folder, "error", err)
	}
}

func (r *Run) closeBox(box *sandbox.Local, remove bool) {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := box.Close(ctx, remove); err != nil {
		r.log.Warn("close sandbox", "folder", box.Root(), "error", err)
	}
}

// keeps tells whether the sandbox of a prompt that ended this way stays:
// because the user asked, or because a resume may try the prompt again.
func (r *Run) keeps(end string, inPlan bool) bool {
	switch r.o.KeepSandboxes {
	case "always":
		return true
	case "failed":
		return end == db.EndFailed
	}
	return end == db.EndFailed && inPlan
}

// sweep removes the folders of prompts that are done, left by a program that
// died between an outcome and the removal.
func (r *Run) sweep(ctx context.Context) {
	if r.o.KeepSandboxes == "always" {
		return
	}
	_, err := sandbox.Sweep(ctx, r.workDir, func(name string) bool {
		ord, ok := ordinalOf(name)
		if !ok {
			return true
		}
		out, found, err := r.store.Outcome(ord)
		return err != nil || !found || r.keeps(out.End, r.progress.planned(ord))
	})
	if err != nil {
		r.log.Warn("remove left-over work folders", "folder", r.workDir, "error", err)
	}
}

// ordinalOf reads the name of a work folder.
func ordinalOf(name string) (db.Ordinal, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 3 || !strings.HasPrefix(parts[2], "a") {
		return 0, false
	}
	index, err1 := strconv.Atoi(parts[0])
	rollout, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil || index < 0 || rollout < 0 {
		return 0, false
	}
	return db.MakeOrdinal(index, rollout), true
}

// workFolder is the folder for the work folders of one run. A store may come
// from somebody else, and its run's ID lead elsewhere.
func workFolder(o *Options, runID string) (string, error) {
	if !runName().MatchString(runID) {
		return "", fmt.Errorf("run ID %.50q: %w", runID, db.ErrDamaged)
	}
	root, err := workRoot(o)
	return filepath.Join(root, runID), err
}

// workRoot holds the work folders of all runs.
func workRoot(o *Options) (string, error) {
	if o.WorkDir != "" {
		return filepath.Abs(o.WorkDir)
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", Usagef("no home folder for work folders: name a folder with --work_dir")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "hermes-batch"), nil
}

// checkWorkDir finds out before a run is created that its work folders cannot
// be.
func checkWorkDir(o *Options) error {
	root, err := workRoot(o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return Usagef("work folders: %v; name another folder with --work_dir", err)
	}
	probe, err := os.MkdirTemp(root, ".probe-")
	if err != nil {
		return Usagef("work folders: %v; name another folder with --work_dir", err)
	}
	return os.Remove(probe)
}
