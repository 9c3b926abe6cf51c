package tools

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"
)

// meanings explains exit codes that are no error of the program, or that say more than "failed".
var meanings = map[string]map[int]string{
	"grep":  {1: "no match"},
	"egrep": {1: "no match"},
	"fgrep": {1: "no match"},
	"rg":    {1: "no match"},
	"diff":  {1: "the files differ"},
	"cmp":   {1: "the files differ"},
	"find":  {1: "some folders could not be read"},
	"test":  {1: "the condition is false"},
	"[":     {1: "the condition is false"},
	"git":   {1: "for git diff and git grep: there are differences, or no match"},
	"curl": {
		6:  "the host name could not be resolved",
		7:  "could not connect to the host",
		22: "the server answered with an error status",
		28: "timed out",
	},
}

// general explains exit codes that the shell gives.
var general = map[int]string{
	126: "the command cannot be executed, or its folder cannot be entered",
	127: "command not found",
	130: "interrupted",
	137: "killed (SIGKILL), perhaps out of memory",
	139: "segmentation fault (SIGSEGV)",
	143: "terminated (SIGTERM)",
}

// exitMeaning says what an exit code means where that is not obvious; empty otherwise.
func exitMeaning(script string, code int) string {
	if code == 0 {
		return ""
	}
	if meaning, ok := general[code]; ok {
		return meaning
	}
	name, _ := program(lastCommand(script))
	if meaning, ok := meanings[name][code]; ok {
		return meaning
	}
	if code > 128 && code <= 128+64 {
		return fmt.Sprintf("ended by signal %d", code-128)
	}
	return ""
}

// lastCommand is the simple command whose exit code a script most likely ends with.
func lastCommand(script string) []string {
	list := statements(script)
	if len(list) == 0 {
		return nil
	}
	command := list[len(list)-1].Cmd
	for {
		switch c := command.(type) {
		case *syntax.BinaryCmd:
			command = c.Y.Cmd
		case *syntax.CallExpr:
			return words(c)
		case *syntax.TestClause:
			return []string{"test"}
		default:
			return nil
		}
	}
}
