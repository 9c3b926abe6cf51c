// Package sandbox is where the commands and files of one session live.
//
// A [Sandbox] belongs to one attempt of one session. It runs shell commands,
// carries the shell's folder and exported environment from one command to the
// next, keeps commands in the background as [Jobs], reads and writes files
// inside its work folder, and can be asked after a restart what became of a
// command that was running. [Local] is the implementation on this machine
// (Linux); the package sandboxtest holds the suite that every implementation
// passes.
//
// # Commands outlive the program
//
// [Local.Exec] does not run a command itself. It starts this same binary again
// with [SuperviseArg], in a session of its own, and that supervisor runs the
// shell:
//
//	program ── spec (stdin) ──► supervisor ── bash -c … ──► the command's processes
//	   ▲                           │   ▲                          │
//	   └──── report (stdout) ──────┤   └──── output (a pipe) ─────┘
//	                               ▼
//	                         Base/calls/KEY
//
// The call's file is locked from before the supervisor exists until it ends,
// and says first that the command begins, at last how it ended. So after a
// restart an empty file without a lock is a call that never began, a lock is
// one to wait for, and anything else without a result is one that is lost.
//
// A supervisor is the subreaper of all that its command starts. It ends them
// at the timeout, and stays with those that outlive the shell (background
// processes live as long as the session) until it is told to end or until the
// deadline. It knows nothing of the program but its standard input and output,
// and works as well in a container without anything inherited.
//
// # Restarts of the machine
//
// Nothing is synced to disk while commands run. So after a restart of the
// machine, which the boot id shows, neither a missing line nor a file in the
// work folder proves anything: the sandbox is lost. Only an orderly end of the
// program syncs all sandboxes at once ([Settle]), and its next session takes
// them over ([Adopt]).
//
// # Long output
//
// A result holds the beginning and the end of an output, a job its end. Of one
// that is longer the supervisor writes all, up to [MaxFull] bytes, to a file in
// [ResultsFolder] of the work folder as it reads it: commands and Files read it
// there, it is whole although the program died, and goes with the sandbox. Short
// outputs make no file. A [Full] says where it is or why there is none; that
// never costs the result. Where the shell starts in a folder that others share,
// the file is in the sandbox's own work folder all the same.
//
// # Jobs
//
// The supervisor of a command in the background says at once that the job runs,
// keeps the end of its output and the other side of its standard input, and
// answers questions on a socket. The program keeps nothing, so that jobs go on
// if it dies, and are reached again when the sandbox is opened again:
//
//	program ── question ──► Base/jobs/KEY ──► supervisor ── input, signals ──► the job
//	   ▲                        (socket)      │  ▲                               │
//	   └────────── answer ────────────────────┘  └─────────── output ────────────┘
//
// How a job ended is the last line in the call's file, as for any command; from
// then on that is what answers. A job without a supervisor and without that line
// is gone, and nobody knows how it ended. The sandbox is lost then: a session
// that goes on would count on what is not there any more. Closing a sandbox
// while jobs run makes them such.
//
// # For main and for tests
//
// The main function calls [Supervise] before it does anything else when the
// first argument is [SuperviseArg]: each command pays for what the binary does
// until then. A test binary that opens a [Local] does the same in TestMain.
//
// # What it does not do
//
//   - A local sandbox is no isolation: commands can do what the user can who
//     runs the program. Only the file tools are confined. Commands see no
//     environment but a few named variables, but may read what the user may;
//     the program has to close its own (engine.Conceal).
//   - A command can kill its own supervisor. That is an error of the sandbox
//     ([ErrSupervisor]), as if the machine had run out of memory. One that it
//     stops is woken when its report is due, and when the sandbox is closed.
//   - If a supervisor is killed, what is left is found by the shell's session
//     and by a variable in the environment. A process that has left both goes
//     on.
//   - A job's processes that outlive its shell live on, but are no longer
//     reached: neither their output nor Kill.
//   - A command in a terminal that asks whoever sits there waits until its
//     timeout.
//   - Under `set -x` bash shows one more level of nesting than under bash -c.
//   - The call's file must lie on a file system with working locks.
//
// # Imports
//
// The package imports nothing else of this module.
package sandbox
