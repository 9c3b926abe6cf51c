package power

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Flags of system calls, as numbers since strace writes them so.
const (
	openCreate    = 0x40
	openTruncate  = 0x200
	openAppend    = 0x400
	openSync      = 0x1000 // O_DSYNC, which O_SYNC holds
	openTemporary = 0x400000

	atWorkingFolder = -100
	dupMin          = 0    // F_DUPFD
	dupMinCloexec   = 1030 // F_DUPFD_CLOEXEC
	cloneThread     = 0x10000
	mapWrite        = 0x2
	mapShared       = 0x1
	renameExchange  = 0x2
)

// description is what a descriptor stands for.
type description struct {
	path   string // as it was when it was opened; "" for what has none
	node   *node  // nil outside of the recorded folder
	offset int64
	append bool
	peer   *stream // of a connection
}

// kernel follows the system calls of one call of the program: of its own
// threads, not of the commands that it starts, which do not write to the
// recorded folder.
type kernel struct {
	r       *recording
	watch   *watcher
	threads map[int]bool
	cwd     string
	fds     map[int64]*description
	phase   func(path string) string // of an operation on that path
}

// run follows all calls in the order of their ends. Closing counts from its
// beginning, since the number may be given out again before it returns.
func (k *kernel) run(calls []*call) error {
	k.findThreads(calls)
	type moment struct {
		line  int
		call  *call
		enter bool
	}
	var all []moment
	for _, c := range calls {
		if !k.threads[c.thread] {
			continue
		}
		all = append(all, moment{c.enter, c, true})
		if c.exit != never {
			all = append(all, moment{c.exit, c, false})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.line, b.line) })
	for _, m := range all {
		var err error
		switch {
		case m.enter:
			err = k.enter(m.call)
		case m.call.ret >= 0:
			err = k.leave(m.call)
		}
		if err != nil {
			return fmt.Errorf("%s in line %d: %w", m.call.name, m.line, err)
		}
	}
	return nil
}

// findThreads finds the threads of the program, whose first one made the first
// call.
func (k *kernel) findThreads(calls []*call) {
	k.threads = map[int]bool{}
	if len(calls) > 0 {
		k.threads[calls[0].thread] = true
	}
	for grown := true; grown; {
		grown = false
		for _, c := range calls {
			if child := int(c.ret); c.name == "clone" && c.ret > 0 && k.threads[c.thread] && !k.threads[child] && c.field("flags")&cloneThread != 0 {
				k.threads[child], grown = true, true
			}
		}
	}
}

// enter is for what counts from the beginning of a call on.
func (k *kernel) enter(c *call) error {
	switch c.name {
	case "close":
		delete(k.fds, c.number(0))
	case "write", "writev":
		if err := k.say(c); err != nil {
			return err
		}
	case "connect":
		if len(c.args) > 1 && strings.HasPrefix(c.args[1], "{sa_family=0x2,") { // IPv4
			k.watch.connected(c.enter)
		}
	case "exit_group":
		k.watch.exited(c.enter, c.number(0))
	}
	return nil
}

// say passes on what goes to connections and to the terminal.
func (k *kernel) say(c *call) error {
	fd := c.number(0)
	d := k.fds[fd]
	switch {
	case d != nil && d.peer != nil:
		data, err := c.bytes(1)
		if err != nil {
			return err
		}
		return d.peer.write(c.enter, data)
	case fd == 1 || fd == 2:
		data, err := c.bytes(1)
		if err != nil {
			return err
		}
		k.watch.printed(c.enter, int(fd), string(data))
	}
	return nil
}

// leave is for what has an effect when a call comes back.
func (k *kernel) leave(c *call) error {
	switch c.name {
	case "open", "creat":
		return k.open(c, k.path(atWorkingFolder, c.path(0)), c.number(1))
	case "openat":
		return k.open(c, k.path(c.number(0), c.path(1)), c.number(2))
	case "openat2":
		return k.open(c, k.path(c.number(0), c.path(1)), c.field("flags"))
	case "dup", "dup2", "dup3":
		k.fds[c.ret] = k.fds[c.number(0)]
	case "fcntl":
		if cmd := c.number(1); cmd == dupMin || cmd == dupMinCloexec {
			k.fds[c.ret] = k.fds[c.number(0)]
		}
	case "socket":
		k.fds[c.ret] = &description{peer: k.watch.stream()}
	case "lseek":
		if d := k.fds[c.number(0)]; d != nil {
			d.offset = c.ret
		}
	case "chdir":
		k.cwd = k.path(atWorkingFolder, c.path(0))
	case "write", "writev", "pwrite64", "pwritev", "pwritev2", "copy_file_range", "sendfile", "splice":
		return k.write(c)
	case "ftruncate", "truncate", "fallocate":
		return k.resize(c)
	case "fsync", "fdatasync":
		if d := k.fds[c.number(0)]; d != nil && d.node != nil {
			k.sync(c, d.path, d.node)
		}
	case "sync", "syncfs":
		k.sync(c, "", nil)
	case "mmap":
		if d := k.fds[c.number(4)]; d != nil && d.node != nil && c.number(2)&mapWrite != 0 && c.number(3)&mapShared != 0 {
			return fmt.Errorf("%s is mapped to be written, which leaves no trace", d.path)
		}
	case "close_range", "fchdir", "symlink", "symlinkat":
		return k.unknown(c)
	case "mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "rmdir":
		return k.rename(c)
	}
	return nil
}

// unknown refuses calls that this package does not follow, where they may
// matter.
func (k *kernel) unknown(c *call) error {
	path := ""
	switch c.name {
	case "truncate":
		path = k.path(atWorkingFolder, c.path(0))
	case "symlink":
		path = k.path(atWorkingFolder, c.path(1))
	case "symlinkat":
		path = k.path(c.number(1), c.path(2))
	}
	if path != "" && !k.r.scoped(path) {
		return nil
	}
	return fmt.Errorf("%s(%s) is not followed", c.name, path)
}

// path is the whole path of a name that is relative to a folder.
func (k *kernel) path(folder int64, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	base := k.cwd
	if folder != atWorkingFolder {
		base = ""
		if d := k.fds[folder]; d != nil {
			base = d.path
		}
	}
	return filepath.Join(base, path)
}

func (k *kernel) open(c *call, path string, flags int64) error {
	if c.name == "creat" {
		flags = openCreate | openTruncate
	}
	d := &description{path: path, append: flags&openAppend != 0}
	k.fds[c.ret] = d
	if flags&openCreate != 0 {
		k.watch.created(c.exit, path)
	}
	if !k.r.scoped(path) {
		return nil
	}
	if flags&(openTemporary|openSync) != 0 && flags&0x3 != 0 {
		return fmt.Errorf("open %s with flags %#x is not followed", path, flags)
	}
	in, ok := k.r.find(path)
	if !ok {
		return nil
	}
	d.node = in.dir.kids[in.text]
	switch {
	case in.text == "": // the recorded folder itself
		d.node = in.dir
	case d.node == nil && flags&openCreate != 0:
		d.node = k.r.newNode(false)
		k.change(c, path, entry{in, d.node})
	case d.node != nil && flags&openTruncate != 0 && len(d.node.live) > 0:
		k.alter(c, path, &op{node: d.node})
	}
	return nil
}

// sync notes a barrier.
func (k *kernel) sync(c *call, path string, n *node) {
	k.r.barriers = append(k.r.barriers, &barrier{enter: c.enter, exit: c.exit, node: n, phase: k.phase(path)})
	k.watch.synced(path)
}

// change notes a change of names, and makes it.
func (k *kernel) change(c *call, path string, entries ...entry) {
	o := &op{enter: c.enter, exit: c.exit, entries: entries, phase: k.phase(path)}
	k.r.ops, k.r.names = append(k.r.ops, o), append(k.r.names, o)
	for _, e := range entries {
		if e.node == nil {
			delete(e.dir.kids, e.text)
		} else {
			e.dir.kids[e.text] = e.node
		}
	}
	k.r.noteVersions(o)
}

// alter notes a change of content, and makes it.
func (k *kernel) alter(c *call, path string, o *op) {
	o.enter, o.exit, o.phase = c.enter, c.exit, k.phase(path)
	o.node.live = o.apply(o.node.live)
	o.node.ops = append(o.node.ops, o)
	k.r.ops = append(k.r.ops, o)
}
