package main

import "syscall"

// skipCall lets a thread that enters a system call leave it undone.
func skipCall(tid int) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Orig_rax = ^uint64(0)
	return syscall.PtraceSetRegs(tid, &regs)
}

// setResult gives a thread that leaves a system call an error.
func setResult(tid int, errno syscall.Errno) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Rax = -uint64(errno)
	return syscall.PtraceSetRegs(tid, &regs)
}
