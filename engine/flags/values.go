package flags

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A wanter says what a value accepts, as the end of "is not …".
type wanter interface{ want() string }

// A holder names its value in help texts, where the usage text names none.
type holder interface{ placeholder() string }

// refused is the error of a value that is not what w wants.
func refused(s string, w wanter) error {
	return fmt.Errorf("%s is not %s", quoted(s), w.want())
}

// Enum returns a value that accepts the allowed words only. The value that *p
// has at first is accepted too if it is empty, and stands for "not given".
func Enum(p *string, allowed ...string) flag.Value {
	if *p == "" {
		return &enum{p: p, allowed: allowed, blank: true}
	}
	return &enum{p: p, allowed: allowed}
}

type enum struct {
	p       *string
	allowed []string
	blank   bool
}

func (e *enum) String() string {
	if e.p == nil {
		return ""
	}
	return *e.p
}

func (e *enum) Set(s string) error {
	if !slices.Contains(e.allowed, s) && (s != "" || !e.blank) {
		return refused(s, e)
	}
	*e.p = s
	return nil
}

func (e *enum) want() string      { return "one of " + strings.Join(e.allowed, ", ") }
func (*enum) placeholder() string { return "WORD" }

// Min returns a value that accepts decimal whole numbers of at least least.
func Min(p *int, least int) flag.Value { return &atLeast{p, least} }

type atLeast struct {
	p     *int
	least int
}

func (n *atLeast) String() string {
	if n.p == nil {
		return "0"
	}
	return strconv.Itoa(*n.p)
}

func (n *atLeast) Set(s string) error {
	v, err := strconv.Atoi(s)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(s, "-") {
		return fmt.Errorf("%s is too large", quoted(s))
	}
	if err != nil || v < n.least {
		return refused(s, n)
	}
	*n.p = v
	return nil
}

func (n *atLeast) want() string      { return fmt.Sprintf("a whole number ≥ %d", n.least) }
func (*atLeast) placeholder() string { return "N" }

// MinOr is Min for a value that may also be a word that means zero, for example
// "all".
func MinOr(p *int, least int, word string) flag.Value { return &minOr{atLeast{p, least}, word} }

type minOr struct {
	atLeast
	word string
}

func (n *minOr) String() string {
	if n.p == nil || *n.p == 0 {
		return n.word
	}
	return n.atLeast.String()
}

func (n *minOr) Set(s string) error {
	if s == n.word {
		*n.p = 0
		return nil
	}
	if n.atLeast.Set(s) != nil {
		return refused(s, n)
	}
	return nil
}

func (n *minOr) want() string { return n.atLeast.want() + ", or " + n.word }

// Duration returns a value that accepts durations of zero and more, as "90s",
// "30m" or "1h30m", and plain numbers, which are seconds.
func Duration(p *time.Duration) flag.Value { return (*duration)(p) }

type duration time.Duration

func (d *duration) String() string {
	s := time.Duration(*d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (d *duration) Set(s string) error {
	text := s
	if text != "" && strings.Trim(text, "0123456789.") == "" {
		text += "s"
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return refused(s, d)
	}
	*d = duration(v)
	return nil
}

func (*duration) want() string        { return "a duration such as 90s, 30m or 2h" }
func (*duration) placeholder() string { return "TIME" }

// CommaList returns a value that accepts words separated by commas; blanks
// around them and empty words are dropped. The first Set replaces what *p held
// and later ones add to it, so a flag that is given twice, or an array in a
// configuration file, is one list.
func CommaList(p *[]string) flag.Value { return &commaList{p: p} }

type commaList struct {
	p   *[]string
	set bool
}

func (l *commaList) String() string {
	if l.p == nil {
		return ""
	}
	return strings.Join(*l.p, ",")
}

func (l *commaList) Set(s string) error {
	if !l.set {
		*l.p, l.set = nil, true
	}
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word != "" {
			*l.p = append(*l.p, word)
		}
	}
	return nil
}

// IsListFlag lets a configuration file give an array.
func (*commaList) IsListFlag() bool    { return true }
func (*commaList) want() string        { return "a list separated by commas" }
func (*commaList) placeholder() string { return "A,B,…" }

// Secret returns a value for a key or a password. White space around it is
// dropped and control characters are refused. It is never shown: not by
// String, not in help or errors of this package, and not by Given or Values.
func Secret(p *string) flag.Value { return &secret{p} }

type secret struct{ p *string }

func (s *secret) String() string {
	if s.p == nil || *s.p == "" {
		return ""
	}
	return "[hidden]"
}

func (s *secret) Set(v string) error {
	v = strings.TrimSpace(v)
	if strings.ContainsFunc(v, unicode.IsControl) {
		return errors.New("the value holds control characters, such as a line break")
	}
	*s.p = v
	return nil
}

// Secret marks the value for everything that shows flags.
func (*secret) Secret() bool        { return true }
func (*secret) want() string        { return "a secret" }
func (*secret) placeholder() string { return "KEY" }

// isSecret reports whether v must not be shown, stored or inherited.
func isSecret(v flag.Value) bool {
	s, ok := v.(interface{ Secret() bool })
	return ok && s.Secret()
}

// want says what v accepts, "" if that is not known.
func want(v flag.Value) string {
	if w, ok := v.(wanter); ok {
		return w.want()
	}
	g, ok := v.(flag.Getter)
	if !ok {
		return ""
	}
	switch g.Get().(type) {
	case bool:
		return "true or false"
	case int, int64:
		return "a whole number"
	case uint, uint64:
		return "a whole number ≥ 0"
	case float64:
		return "a number"
	case time.Duration:
		return (*duration)(nil).want()
	}
	return ""
}
