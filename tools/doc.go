// Package tools holds what a model can call: the tools, the toolsets they come in, and the
// distributions from which a prompt's toolsets are drawn.
//
//	distribution ──Draw──► toolset names ──Catalogue──► Offer (tools, definitions) ──Run──► Result
//
// A Tool says what it is (Spec) and does its work (Call). Bad input of a model is a Result that
// the model reads; a Go error means that the sandbox or the program itself is broken. Run is the
// way to call a tool: it checks the arguments against the tool's schema before, and afterwards cuts
// a result that is too long for a model. All of such a result lies in a file of the work folder,
// which its full_output names, and goes along as Full; no tool has to do anything for that.
//
// A new tool takes one file and one line: the file implements Tool, the line puts it into the
// list builtin of toolsets.go. Its name and its toolset are there already.
//
// The file tools see files through the sandbox alone. What patch is to replace is looked for in
// several ways, the strictest first (match.go).
//
// search_files walks and matches by itself and never calls ripgrep: rows are training data, and the
// same call has to give the same bytes on every machine. That costs about twice ripgrep's CPU time
// (a rare word in 43,000 files of 650 MB: 0.52 s against 0.29 s; names: 0.10 s against 0.06 s). An
// expression without any fixed text, as [0-9]{7,}, costs ten times as much: 20 ns a byte.
// BenchmarkSearchFiles measures both side by side.
//
// Of this module the package imports tools/sandbox only. Everything it exports is safe for
// concurrent use.
package tools
