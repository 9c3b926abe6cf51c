package power

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// write follows the calls that write to a file, at its own position or at one
// that is given.
func (k *kernel) write(c *call) error {
	to := c.number(0)
	if c.name == "copy_file_range" || c.name == "splice" {
		to = c.number(2)
	}
	d := k.fds[to]
	if d == nil || d.node == nil || c.ret == 0 {
		if d != nil && c.name == "write" {
			d.offset += c.ret
		}
		return nil
	}
	var data []byte
	var err error
	at := int64(-1)
	switch c.name {
	case "write", "writev":
		data, err = c.bytes(1)
	case "pwrite64":
		data, err = c.bytes(1)
		at = c.number(3)
	case "pwritev", "pwritev2":
		data, err = c.bytes(1)
		at = c.number(3)
	case "copy_file_range":
		at = pointed(c, 3)
		data, err = k.copied(c.number(0), pointed(c, 1), c.ret)
	case "sendfile":
		data, err = k.copied(c.number(1), pointed(c, 2), c.ret)
	default:
		err = errors.New("is not followed")
	}
	if err != nil {
		return fmt.Errorf("to %s: %w", d.path, err)
	}
	if int64(len(data)) < c.ret {
		return fmt.Errorf("to %s: %d bytes of %d were recorded", d.path, len(data), c.ret)
	}
	data = data[:c.ret]
	if at < 0 {
		if d.append {
			d.offset = int64(len(d.node.live))
		}
		at = d.offset
		d.offset += c.ret
	}
	k.alter(c, d.path, &op{node: d.node, off: at, data: data})
	return nil
}

// pointed is an offset that is given by a pointer, -1 if there is none.
func pointed(c *call, i int) int64 {
	text := strings.Trim(c.args[i], "[]")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && text != c.args[i] {
		return n
	}
	return -1
}

// copied is what the kernel copied out of a file, which moves its position
// unless one was given.
func (k *kernel) copied(from, at, n int64) ([]byte, error) {
	d := k.fds[from]
	if d == nil || d.node == nil {
		return nil, errors.New("a copy of what was not recorded")
	}
	if at < 0 {
		at = d.offset
		d.offset += n
	}
	if at+n > int64(len(d.node.live)) {
		return nil, fmt.Errorf("a copy of %d bytes from %d on of %s, which has %d", n, at, d.path, len(d.node.live))
	}
	return append([]byte(nil), d.node.live[at:at+n]...), nil
}

// resize follows the calls that change how long a file is.
func (k *kernel) resize(c *call) error {
	if c.name == "truncate" {
		return k.unknown(c)
	}
	d := k.fds[c.number(0)]
	if d == nil || d.node == nil {
		return nil
	}
	size := c.number(1)
	if c.name == "fallocate" {
		if size != 0 {
			return fmt.Errorf("of %s in mode %d is not followed", d.path, size)
		}
		size = max(c.number(2)+c.number(3), int64(len(d.node.live)))
	}
	if size != int64(len(d.node.live)) {
		k.alter(c, d.path, &op{node: d.node, off: size})
	}
	return nil
}

// rename follows the calls that change names.
func (k *kernel) rename(c *call) error {
	from, to := "", ""
	switch c.name {
	case "mkdir", "unlink", "rmdir":
		from = k.path(atWorkingFolder, c.path(0))
	case "mkdirat", "unlinkat":
		from = k.path(c.number(0), c.path(1))
	case "rename", "link":
		from, to = k.path(atWorkingFolder, c.path(0)), k.path(atWorkingFolder, c.path(1))
	default:
		from, to = k.path(c.number(0), c.path(1)), k.path(c.number(2), c.path(3))
	}
	k.watch.removed(c, from)
	if !k.r.scoped(from) && (to == "" || !k.r.scoped(to)) {
		return nil
	}
	in, ok := k.r.find(from)
	if !ok {
		return fmt.Errorf("%s lies in a folder that was not recorded", from)
	}
	old := in.dir.kids[in.text]
	switch {
	case strings.HasPrefix(c.name, "mkdir"):
		k.change(c, from, entry{in, k.r.newNode(true)})
		return nil
	case old == nil && to == "": // a socket
		return nil
	case old == nil:
		return fmt.Errorf("%s was not recorded", from)
	case to == "":
		k.change(c, from, entry{in, nil})
		return nil
	}
	target, ok := k.r.find(to)
	if !ok || c.name == "renameat2" && c.number(4)&renameExchange != 0 {
		return fmt.Errorf("%s to %s is not followed", from, to)
	}
	if strings.HasPrefix(c.name, "link") {
		k.change(c, to, entry{target, old})
		return nil
	}
	k.change(c, to, entry{target, old}, entry{in, nil})
	return nil
}
