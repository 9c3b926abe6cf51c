package sandbox

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// An output keeps the beginning and the end of what is written to it, and
// counts the rest. What does not fit goes to a file as well, if it has one: all
// of it, from the first byte on. It is safe for concurrent use.
type output struct {
	mu       sync.Mutex
	file     *fullWriter // may be nil
	sealed   bool
	headSize int
	tailSize int
	head     []byte
	tail     []byte // a ring once it is full
	next     int    // where the ring goes on
	total    int64
}

func newOutput(head, tail int) *output {
	return &output{headSize: max(head, 0), tailSize: max(tail, 0)}
}

// Write implements io.Writer; it never fails.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sealed {
		return n, nil
	}
	o.spill(p)
	o.total += int64(n)
	take := min(o.headSize-len(o.head), n)
	o.head = append(o.head, p[:take]...)
	p = p[take:]
	if len(p) > o.tailSize {
		p = p[len(p)-o.tailSize:]
	}
	grow := min(o.tailSize-len(o.tail), len(p))
	o.tail = append(o.tail, p[:grow]...)
	for p = p[grow:]; len(p) > 0; {
		k := copy(o.tail[o.next:], p)
		o.next = (o.next + k) % o.tailSize
		p = p[k:]
	}
	return n, nil
}

// spill writes what comes to the file, and before the first that does not fit
// what has come until then.
func (o *output) spill(p []byte) {
	fits := int64(o.headSize) + int64(o.tailSize)
	if o.file == nil || o.total+int64(len(p)) <= fits {
		return
	}
	if o.total <= fits {
		o.file.write(o.head)
		o.file.write(o.tail) // not a ring yet
	}
	o.file.write(p)
}

// full tells of the file; nil if all fits, or there is none.
func (o *output) full() *Full {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil || o.total <= int64(o.headSize)+int64(o.tailSize) {
		return nil
	}
	f := o.file.full(o.total)
	return &f
}

// seal ends the output: what is written from now on is not a part of it.
func (o *output) seal() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sealed = true
	if o.file != nil {
		o.file.close()
	}
}

// forget drops what was kept; the output is sealed before.
func (o *output) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head, o.tail = nil, nil
}

// text renders what was kept as valid UTF-8, cut at whole characters, and
// returns the number of bytes that were dropped.
func (o *output) text() ([]byte, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := append(append([]byte(nil), o.tail[o.next:]...), o.tail[:o.next]...)
	dropped := o.total - int64(len(o.head)) - int64(len(tail))
	if dropped == 0 {
		return replaceInvalid(append(append([]byte(nil), o.head...), tail...)), 0
	}
	head := cutEnd(o.head)
	dropped += int64(len(o.head) - len(head))
	short := cutStart(tail)
	dropped += int64(len(tail) - len(short))
	text := replaceInvalid(head)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	text = fmt.Appendf(text, "[... %d bytes of output dropped ...]\n", dropped)
	return append(text, replaceInvalid(short)...), dropped
}

// end renders the end of what was written, as far as it is kept, and returns
// the number of bytes before it.
func (o *output) end() ([]byte, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := append(append([]byte(nil), o.tail[o.next:]...), o.tail[:o.next]...)
	dropped := o.total - int64(len(tail))
	if dropped > 0 {
		short := cutStart(tail)
		dropped += int64(len(tail) - len(short))
		tail = short
	}
	return replaceInvalid(tail), dropped
}

// cutEnd drops the bytes of a last character that is not whole.
func cutEnd(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// cutStart drops the bytes of a first character that is not whole.
func cutStart(b []byte) []byte {
	i := 0
	for i < len(b) && i < utf8.UTFMax && !utf8.RuneStart(b[i]) {
		i++
	}
	if i == utf8.UTFMax {
		return b // of no character at all
	}
	return b[i:]
}

// replaceInvalid puts U+FFFD for each byte that belongs to no character.
func replaceInvalid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/2)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return out
}
