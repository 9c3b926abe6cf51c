package sandbox

import (
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// The size of the terminal that a command gets.
const (
	TerminalRows    = 30
	TerminalColumns = 120
)

// endOfInput is the character by which a terminal ends the input.
const endOfInput = 4

// openTerminal opens a terminal: the command's side, and the one from which its
// output comes and where its input is typed.
func openTerminal() (typist, command *os.File, err error) {
	typist, command, err = pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	if err = setUpTerminal(typist, command); err == nil {
		typist, err = pollable(typist)
	}
	if err != nil {
		typist.Close()
		command.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return typist, command, nil
}

// setUpTerminal gives the terminal a size and lets lines end as they do
// elsewhere: there is no carriage to return.
func setUpTerminal(typist, command *os.File) error {
	if err := pty.Setsize(typist, &pty.Winsize{Rows: TerminalRows, Cols: TerminalColumns}); err != nil {
		return err
	}
	mode, err := unix.IoctlGetTermios(int(command.Fd()), unix.TCGETS)
	if err != nil {
		return err
	}
	mode.Oflag &^= unix.ONLCR
	return unix.IoctlSetTermios(int(command.Fd()), unix.TCSETS, mode)
}

// pollable replaces a file whose descriptor was used, which ended that, by one
// that can have deadlines.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return f, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return f, err
	}
	name := f.Name()
	f.Close()
	return os.NewFile(uintptr(fd), name), nil
}

// streams opens what the shell gets as standard input and output, which may be
// one file, and the other side of the input; that is nil if there is none.
func (s *supervisor) streams() (in, out, input *os.File, err error) {
	if s.spec.Terminal {
		if s.pipe, out, err = openTerminal(); err == nil && s.spec.Socket == "" {
			_, err = s.pipe.Write([]byte{endOfInput})
		}
		return out, out, s.pipe, err
	}
	if s.spec.Socket == "" {
		in, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
	} else {
		in, input, err = os.Pipe()
	}
	if err != nil {
		return nil, nil, nil, err
	}
	s.pipe, out, err = os.Pipe()
	return in, out, input, err
}
