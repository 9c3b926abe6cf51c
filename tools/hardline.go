package tools

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hardline names what a command would do that no task needs and no machine survives; empty for
// all other commands. It guards against slips of a model. It is no wall against one that means
// harm: such a command can be written in countless ways.
func hardline(script string) string { return hardlineWithin(script, 5) }

// hardlineWithin also looks into scripts that are handed to a shell, so many levels down.
func hardlineWithin(script string, levels int) string {
	danger := ""
	for _, stmt := range statements(script) {
		syntax.Walk(stmt, func(node syntax.Node) bool {
			if danger != "" {
				return false
			}
			switch n := node.(type) {
			case *syntax.CallExpr:
				danger = dangerOf(words(n), levels)
			case *syntax.Redirect:
				if n.Word != nil && writes(n.Op) && isBlockDevice(word(n.Word)) {
					danger = "writing to a disk device"
				}
			case *syntax.FuncDecl:
				if forksForEver(n) {
					danger = "a fork bomb"
				}
			}
			return danger == ""
		})
	}
	return danger
}

func dangerOf(list []string, levels int) string {
	name, args := program(list)
	switch name {
	case "rm":
		if recursive(args) && slices.ContainsFunc(args, isVital) {
			return "removing a system folder or the home folder"
		}
	case "find":
		if slices.Contains(args, "-delete") && slices.ContainsFunc(args, isVital) {
			return "removing a system folder or the home folder"
		}
	case "dd":
		if slices.ContainsFunc(args, func(a string) bool {
			to, found := strings.CutPrefix(a, "of=")
			return found && isBlockDevice(to)
		}) {
			return "writing to a disk device"
		}
	case "tee", "cp", "shred", "wipefs":
		if len(args) > 0 && isBlockDevice(args[len(args)-1]) {
			return "writing to a disk device"
		}
	case "kill":
		if killsAll(args) {
			return "ending every process"
		}
	case "shutdown", "reboot", "halt", "poweroff":
		return "stopping the machine"
	case "init", "telinit":
		if slices.Contains(args, "0") || slices.Contains(args, "6") {
			return "stopping the machine"
		}
	case "systemctl":
		if slices.ContainsFunc(args, func(a string) bool {
			return slices.Contains([]string{"poweroff", "reboot", "halt", "kexec"}, a)
		}) {
			return "stopping the machine"
		}
	case "sh", "bash", "dash", "zsh", "ksh", "eval":
		return dangerWithin(name, args, levels)
	}
	if name == "mkfs" || strings.HasPrefix(name, "mkfs.") {
		return "making a file system"
	}
	return ""
}

// dangerWithin looks at the script of sh -c and of eval.
func dangerWithin(name string, args []string, levels int) string {
	if levels == 0 {
		return ""
	}
	if name == "eval" {
		return hardlineWithin(strings.Join(args, " "), levels-1)
	}
	for i, a := range args[:max(0, len(args)-1)] {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") {
			return hardlineWithin(args[i+1], levels-1)
		}
	}
	return ""
}

func recursive(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		short := strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--")
		return a == "--recursive" || short && strings.ContainsAny(a, "rR")
	})
}

// vital are folders that a machine or a user cannot do without.
var vital = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc",
	"/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var", "~", "$HOME",
}

// isVital is true for such a folder itself, and for everything in it.
func isVital(arg string) bool {
	if arg == "" || strings.IndexByte("/~$", arg[0]) < 0 {
		return false
	}
	all := strings.TrimRight(arg, "/")
	for _, suffix := range []string{"/*", "/.*", "/.", "/{*,.*}"} {
		all = strings.TrimSuffix(all, suffix)
	}
	if all == "" {
		return true
	}
	return slices.Contains(vital, path.Clean(all)) || all == "~root"
}

func writes(op syntax.RedirOperator) bool {
	return op == syntax.RdrOut || op == syntax.AppOut || op == syntax.RdrClob || op == syntax.RdrAll || op == syntax.AppAll || op == syntax.RdrInOut
}

// isBlockDevice tells whole disks and partitions by the names that Linux gives them.
func isBlockDevice(name string) bool {
	device, found := strings.CutPrefix(path.Clean(name), "/dev/")
	if !found {
		return false
	}
	return slices.ContainsFunc([]string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "mapper/", "disk/"},
		func(prefix string) bool { return strings.HasPrefix(device, prefix) })
}

// killsAll is true for kill -1 and kill -9 -1: process -1 is every process. A lone -1 is a
// signal if a process follows it.
func killsAll(args []string) bool {
	last := len(args) - 1
	return last >= 0 && args[last] == "-1"
}

// forksForEver is true for a function that starts itself twice, once in the background, or pipes
// into itself.
func forksForEver(f *syntax.FuncDecl) bool {
	if f.Name == nil {
		return false
	}
	calls, background := 0, false
	syntax.Walk(f.Body, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			background = background || n.Background
		case *syntax.CallExpr:
			if len(n.Args) > 0 && word(n.Args[0]) == f.Name.Value {
				calls++
			}
		}
		return true
	})
	return calls > 1 && background
}
