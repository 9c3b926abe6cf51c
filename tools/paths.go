package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"hermes-batch/tools/sandbox"
)

// resolve returns the name under which the sandbox knows a path of a model: as the session's
// shell would find it.
func (c *Call) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cmp.Or(c.Shell.Cwd, c.root()), path)
}

// pathProblem says what makes a path unusable, whatever lies there; empty if nothing does.
func (c *Call) pathProblem(path string) string {
	switch {
	case path == "":
		return "path is empty"
	case path == "~" || strings.HasPrefix(path, "~/"):
		return fmt.Sprintf("%s: ~ is not understood here; give a relative path, or an absolute one inside %s", path, c.root())
	}
	return ""
}

// root is the folder in which the session's shell starts; empty if the sandbox does not tell.
func (c *Call) root() string {
	if s, ok := c.Sandbox.(interface{ Root() string }); ok {
		return s.Root()
	}
	return ""
}

// fileError tells a model why a file could not be used. A cause that lies outside of a model's
// reach (a lost sandbox, a full or broken disk) comes back as the error.
func (c *Call) fileError(path string, err error) (Result, error) {
	if beyondModel(err) {
		return Result{}, err
	}
	return failure(StatusError, c.fileProblem(path, err)), nil
}

// beyondModel says that a model can do nothing about an error: the sandbox or the machine is at
// fault.
func beyondModel(err error) bool {
	for _, beyond := range []error{
		sandbox.ErrLost, sandbox.ErrClosed, context.Canceled, context.DeadlineExceeded,
		syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE,
	} {
		if errors.Is(err, beyond) {
			return true
		}
	}
	return false
}

// fileProblem says in words for a model why a file could not be used.
func (c *Call) fileProblem(path string, err error) string {
	switch {
	case errors.Is(err, sandbox.ErrOutside):
		return fmt.Sprintf("%s is outside of the work folder; paths must lie inside %s", path, c.root())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("permission denied: %s", path)
	case errors.Is(err, sandbox.ErrNotRegular):
		return fmt.Sprintf("%s is not a regular file", path)
	}
	// The reason alone: the error may name folders that are none of the model's business.
	var number syscall.Errno
	var at *fs.PathError
	if errors.As(err, &number) {
		err = number
	} else if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Sprintf("%s: %v", path, err)
}
