// Package sandbox is where the commands and files of one session live.
//
// A [Sandbox] belongs to one attempt of one session. It runs shell commands,
// carries the shell's folder and environment from one command to the next,
// reads and writes files inside its work folder, and can be asked after a
// restart what became of a command that was running. [Local] is the
// implementation on this machine; the package sandboxtest holds the suite that
// every implementation passes.
//
// # Commands outlive the program
//
// [Local.Exec] does not run a command itself. It starts this same binary again
// with [SuperviseArg], in a session of its own, and that supervisor runs the
// shell:
//
//	program ── Exec ──► supervisor ──► bash -c … ──► the command's processes
//	   ▲                    │  ▲                          │
//	   └─ report (a pipe) ──┘  └──── output (a pipe) ─────┘
//	                        ▼
//	       calls/KEY/started, calls/KEY/result
//
// The main function therefore calls [Supervise] before it does anything else
// when the first argument is [SuperviseArg]: each command pays for what the
// binary does until then.
//
// # Imports
//
// The package imports nothing else of this module.
package sandbox
