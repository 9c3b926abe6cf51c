package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes-batch/tools/sandbox"
)

// Conceal takes secrets out of what the system shows of this process: the
// environment it was started with, and the values of --api_key among its
// arguments, of which os.Args becomes a copy. After that not even root finds
// them in /proc or a list of processes. os.Getenv goes on as before. Memory and
// descriptors are closed to other processes of the same user, but not to root.
//
// It is to be called before anything keeps a part of os.Args. An error means
// that root, and for arguments everybody, may still see them.
func Conceal() error {
	for i, arg := range os.Args {
		os.Args[i] = strings.Clone(arg) // it lies in the memory that is overwritten
	}
	err := blankStart()
	// Afterwards: one's own memory is not open for writing any more then.
	if _, notSet := unix.PrctlRetInt(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); notSet != nil {
		err = errors.Join(err, fmt.Errorf("close the memory to others: %w", notSet))
	}
	if err != nil {
		return fmt.Errorf("hide the environment: %w", err)
	}
	return nil
}

// blankStart overwrites the arguments and the environment as the kernel laid
// them down.
func blankStart() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	at, err := startOf(stat)
	if err != nil {
		return fmt.Errorf("/proc/self/stat: %w", err)
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	return errors.Join(rewrite(memory, at[0], at[1], blankKeys), rewrite(memory, at[2], at[3], blankVariables))
}

// startOf reads from a process status line where the arguments begin and end,
// and where the environment does.
func startOf(stat []byte) (at [4]int64, err error) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before may hold anything
	const argStart, envEnd = 48 - 3, 51 - 3                                   // proc(5) counts from 1; number and name are gone
	if len(fields) <= envEnd {
		return at, errors.New("too short")
	}
	for i := range at {
		if at[i], err = strconv.ParseInt(fields[argStart+i], 10, 64); err != nil {
			return at, err
		}
		if at[i] == 0 {
			return at, errors.New("no addresses")
		}
	}
	return at, nil
}

// rewrite changes a part of the memory.
func rewrite(memory *os.File, from, to int64, change func([]byte)) error {
	part := make([]byte, max(to-from, 0))
	if _, err := memory.ReadAt(part, from); err != nil {
		return err
	}
	change(part)
	_, err := memory.WriteAt(part, from)
	return err
}

// blankKeys overwrites the values of --api_key among arguments, each of which
// ends with a zero byte.
func blankKeys(args []byte) {
	isValue := false
	for arg := range bytes.SplitSeq(args, []byte{0}) {
		name, value, assigned := bytes.Cut(arg, []byte("="))
		isKey := len(name) > 0 && name[0] == '-' && strings.ReplaceAll(strings.TrimLeft(string(name), "-"), "-", "_") == "api_key"
		switch {
		case isValue:
			blank(arg, '*')
		case isKey && assigned:
			blank(value, '*')
		}
		isValue = isKey && !assigned && !isValue
	}
}

// blankVariables overwrites an environment, but for the variable by which a
// sandbox knows the processes in it, as this one may be.
func blankVariables(environment []byte) {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if !bytes.HasPrefix(variable, []byte(sandbox.MarkName+"=")) {
			blank(variable, 0)
		}
	}
}

func blank(text []byte, with byte) {
	for i := range text {
		text[i] = with
	}
}
