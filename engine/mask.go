package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"strings"
)

// minSecret is the shortest secret that is masked, in bytes: a shorter one
// would hit ordinary text.
const minSecret = 8

const maskText = "[secret]"

// mask replaces known secrets, also in their base64, URL and JSON forms. The
// zero value masks nothing. Safe for concurrent use.
type mask struct {
	forms   [][]byte
	longest int // of them, in bytes
}

func newMask(secrets ...string) mask {
	var m mask
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		m.add(s)
		m.add(url.QueryEscape(s))
		m.add(base64.StdEncoding.EncodeToString([]byte(s)))
		m.add(base64.RawURLEncoding.EncodeToString([]byte(s)))
		if quoted, err := json.Marshal(s); err == nil {
			m.add(string(quoted[1 : len(quoted)-1]))
		}
	}
	return m
}

func (m *mask) add(form string) {
	for _, known := range m.forms {
		if string(known) == form {
			return
		}
	}
	m.forms = append(m.forms, []byte(form))
	m.longest = max(m.longest, len(form))
}

// bytes returns text without secrets; text itself if it holds none.
func (m mask) bytes(text []byte) []byte {
	for _, form := range m.forms {
		if bytes.Contains(text, form) {
			text = bytes.ReplaceAll(text, form, []byte(maskText))
		}
	}
	return text
}

// pieces reads in to its end and hands it out in pieces of at most buf's size
// and what masking adds, without secrets. No cut goes through a secret. A
// piece is the callee's until it returns.
func (m mask) pieces(in io.Reader, buf []byte, take func(piece []byte) error) error {
	for held := 0; ; {
		n, err := io.ReadFull(in, buf[held:])
		text := buf[:held+n]
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return err
		}
		cut := len(text)
		if !end {
			cut = m.cut(text)
		}
		if cut > 0 {
			if err := take(m.bytes(text[:cut])); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
		held = copy(buf, text[cut:])
	}
}

// cut returns where the beginning of a longer text can be cut, so that the cut
// goes through no secret, not even one whose end is still to come.
func (m mask) cut(text []byte) int {
	last := max(len(text)-max(m.longest-1, 0), (len(text)+1)/2)
	cut := last
	for moved := true; moved && cut > 0; {
		moved = false
		for _, form := range m.forms {
			around := text[max(0, cut-len(form)+1):min(len(text), cut+len(form)-1)]
			if at := bytes.Index(around, form); at >= 0 {
				cut, moved = max(0, cut-len(form)+1)+at, true
			}
		}
	}
	if cut <= 0 { // nothing but secrets that overlap
		return last
	}
	return cut
}

func (m mask) text(s string) string {
	for _, form := range m.forms {
		if strings.Contains(s, string(form)) {
			s = strings.ReplaceAll(s, string(form), maskText)
		}
	}
	return s
}

// line makes one harmless line of a text. It masks before the line is cut, so
// that no part of a secret is left, and after that, as what is left out between
// two parts may have made them one.
func (m mask) line(s string) string { return m.text(oneLine(m.text(s))) }
