package engine

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"hermes-batch/tools/sandbox"
)

// adoptSandboxes takes over what the session of the program before this one
// left for a restart of the machine.
func (r *Run) adoptSandboxes() {
	r.adopted = true
	if err := sandbox.Adopt(r.workDir); err != nil {
		r.log.Warn("work folders of an earlier session may be lost", "folder", r.workDir, "error", err)
	}
}

// leaveSandboxes removes the run's work folder if no sandbox is left in it, and
// otherwise leaves them so that they outlast a restart of the machine.
func (r *Run) leaveSandboxes() {
	if err := os.Remove(r.workDir); err == nil || errors.Is(err, fs.ErrNotExist) || !r.adopted {
		return
	}
	settled := make(chan error, 1)
	go func() { settled <- sandbox.Settle(r.workDir) }()
	err := errors.New("the disk is busy")
	select {
	case err = <-settled:
	case <-time.After(settleLimit):
	}
	if err != nil {
		r.log.Warn("unfinished prompts begin anew if the machine is started anew before the next session", "error", err)
	}
}

// settleLimit bounds the wait for the disk at the end of the program.
const settleLimit = 20 * time.Second
