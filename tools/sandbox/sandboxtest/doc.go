// Package sandboxtest is the suite that every implementation of
// [sandbox.Sandbox] passes. It looks at a sandbox as a session does: through
// commands and files. Where it needs to know which processes live it asks a
// later command.
package sandboxtest
