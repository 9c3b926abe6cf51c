package simulated

import (
	"bytes"
	"encoding/json"
	"strings"
)

// result is what a tool returned: mostly a JSON object, sometimes plain text
// or an object with a hint after it.
type result struct {
	text   string
	object bool
	fields resultFields
}

type resultFields struct {
	Error      json.RawMessage `json:"error"`
	Output     string          `json:"output"`
	ExitCode   int             `json:"exit_code"`
	Content    string          `json:"content"`
	Truncated  bool            `json:"truncated"`
	TotalLines int             `json:"total_lines"`
	Result     json.RawMessage `json:"result"`
	Value      json.RawMessage `json:"value"`
}

func parseResult(text string) result {
	r := result{text: text}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err := json.NewDecoder(strings.NewReader(text)).Decode(&r.fields)
		r.object = err == nil
	}
	return r
}

// failure says in one line why the call failed; "" if it did not.
func (r result) failure() string {
	if r.object {
		return firstLine(plain(r.fields.Error), 200)
	}
	t := strings.ToLower(r.text)
	switch {
	case t == "":
		return "it returned nothing"
	case strings.HasPrefix(t, "error"), strings.Contains(t, "does not exist"):
		return firstLine(r.text, 200)
	}
	return ""
}

// value is the number that the calculator returned.
func (r result) value() string {
	for _, raw := range []json.RawMessage{r.fields.Result, r.fields.Value} {
		if v := plain(raw); v != "" {
			return v
		}
	}
	if r.fields.Output != "" {
		return strings.TrimSpace(r.fields.Output)
	}
	return strings.TrimSpace(r.text)
}

// content is the text of a file, from read_file or printed in a terminal.
func (r result) content() string {
	if r.fields.Content != "" {
		return withoutGutter(r.fields.Content)
	}
	return r.fields.Output
}

// withoutGutter removes the "N|" in front of each line that read_file adds. A
// text in which a line lacks it is left as it is.
func withoutGutter(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		number, rest, found := strings.Cut(line, "|")
		if !found || strings.Trim(number, " 0123456789") != "" {
			return text
		}
		lines[i] = rest
	}
	return strings.Join(lines, "\n")
}

// plain is a JSON value as text: strings unquoted, null and nothing as "".
func plain(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return ""
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// firstLine is the first line of a text, cut at a character after n bytes.
func firstLine(text string, n int) string {
	line, _, _ := strings.Cut(text, "\n")
	return clip(line, n)
}

func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
