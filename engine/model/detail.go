package model

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// detail is what the body of an error says, in whatever shape it came.
type detail struct {
	object  bool   // it has the form in which model servers report errors
	code    string // a word; numbers are in status
	kind    string // "type"
	param   string
	message string
	status  int               // an HTTP status that stands in the body; 0 if none
	flagged bool              // the prompt was refused by moderation
	headers map[string]string // of the provider behind a router
}

// wireError is an error object, or a body that is one.
type wireError struct {
	Error    json.RawMessage `json:"error"`
	Object   text            `json:"object"`
	Message  json.RawMessage `json:"message"`
	Type     text            `json:"type"`
	Code     json.RawMessage `json:"code"`
	Status   json.RawMessage `json:"status"`
	Param    text            `json:"param"`
	Detail   json.RawMessage `json:"detail"`
	Metadata wireMetadata    `json:"metadata"`
}

// wireMetadata is what OpenRouter adds to an error.
type wireMetadata struct {
	Raw     text                       `json:"raw"` // what the provider behind it said
	Reasons json.RawMessage            `json:"reasons"`
	Flagged text                       `json:"flagged_input"`
	Headers map[string]json.RawMessage `json:"headers"`
}

// detailOf reads the body of an error.
func detailOf(raw []byte) detail {
	body := bytes.TrimSpace(raw)
	switch firstByte(body) {
	case '[': // Google sends a list of one
		var all []json.RawMessage
		if json.Unmarshal(body, &all) == nil && len(all) > 0 {
			return detailOf(all[0])
		}
	case '{':
		var w wireError
		if decode(body, &w) == nil {
			return w.detail()
		}
	case '<':
		return detail{message: pageTitle(body)}
	}
	return detail{message: string(body[:min(len(body), 4*messageLimit)])}
}

func (w *wireError) detail() detail {
	switch firstByte(w.Error) {
	case '{':
		var inner wireError
		decode(w.Error, &inner)
		d := inner.fields()
		d.setCode(inner.Status)
		d.object = true
		return d
	case '"':
		d := w.fields()
		d.object, d.message = true, textOf(w.Error, "", textDepth)
		return d
	}
	d := w.fields()
	d.object = w.Object == "error" || d.code != ""
	if d.message == "" {
		d.message = detailText(w.Detail)
	}
	return d
}

// fields reads the fields of an error object.
func (w *wireError) fields() detail {
	d := detail{
		kind: string(w.Type), param: string(w.Param), message: textOf(w.Message, ", ", textDepth),
		flagged: w.Metadata.Flagged != "" || firstByte(w.Metadata.Reasons) == '[',
		headers: map[string]string{},
	}
	d.setCode(w.Code)
	if w.Metadata.Raw != "" {
		d.message += ": " + string(w.Metadata.Raw)
	}
	for name, value := range w.Metadata.Headers {
		d.headers[name] = strings.Trim(string(value), `"`)
	}
	return d
}

// setCode takes over a code, which is a word or an HTTP status.
func (d *detail) setCode(raw json.RawMessage) {
	if n, ok := number(raw); ok {
		if d.status == 0 && n >= 100 && n < 600 {
			d.status = int(n)
		}
	} else if d.code == "" {
		d.code = textOf(raw, "", textDepth)
	}
}

// detailText reads FastAPI's detail, a string or a list of complaints.
func detailText(raw json.RawMessage) string {
	if s := textOf(raw, ", ", textDepth); s != "" || len(raw) == 0 {
		return s
	}
	return string(raw[:min(len(raw), 4*messageLimit)])
}

var titleTag = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)

// pageTitle returns the title of an HTML page.
func pageTitle(page []byte) string {
	if m := titleTag.FindSubmatch(page[:min(len(page), 4096)]); m != nil {
		return strconv.Quote(string(bytes.TrimSpace(m[1])))
	}
	return "without a title"
}
