package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

var everyKind = Spec{Name: "sample", Parameters: json.RawMessage(`{"type":"object","properties":{
	"path":{"type":"string"},
	"mode":{"type":"string","enum":["replace","patch"]},
	"limit":{"type":"integer","minimum":1,"maximum":100},
	"ratio":{"type":"number","minimum":0},
	"all":{"type":"boolean"},
	"urls":{"type":"array","items":{"type":"string"}},
	"options":{"type":"object","properties":{"deep":{"type":"boolean"}},"required":["deep"]},
	"anything":{}
	},"required":["path"],"additionalProperties":false}`),
	Withheld: map[string]string{"background": "run it in the foreground"}}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		// as they should be
		`{"path":"a","limit":5}`:               `{"path":"a","limit":5}`,
		`{"path":"a","limit":null}`:            `{"path":"a"}`,
		`{"path":""}`:                          `{"path":""}`,
		`{"path":"a","ratio":0.50,"all":true}`: `{"path":"a","ratio":0.50,"all":true}`,
		`{"path":"a","path":"b"}`:              `{"path":"b"}`,
		`{"path":"a","anything":[1,{"b":2}]}`:  `{"path":"a","anything":[1,{"b":2}]}`,
		`{"path":"a","options":{"deep":true}}`: `{"path":"a","options":{"deep":true}}`,
		// brought to the type of the schema
		`{"path":"a","limit":"5"}`:                     `{"path":"a","limit":5}`,
		`{"path":"a","limit":5.0}`:                     `{"path":"a","limit":5}`,
		`{"path":"a","limit":1e1}`:                     `{"path":"a","limit":10}`,
		`{"path":"a","ratio":"2.5"}`:                   `{"path":"a","ratio":2.5}`,
		`{"path":"a","all":"true"}`:                    `{"path":"a","all":true}`,
		`{"path":5}`:                                   `{"path":"5"}`,
		`{"path":9007199254740993.10}`:                 `{"path":"9007199254740993.10"}`,
		`{"path":true}`:                                `{"path":"true"}`,
		`{"path":"a","urls":"http://x"}`:               `{"path":"a","urls":["http://x"]}`,
		`{"path":"a","urls":"[\"b\",\"c\"]"}`:          `{"path":"a","urls":["b","c"]}`,
		`{"path":"a","urls":[1,"b"]}`:                  `{"path":"a","urls":["1","b"]}`,
		`{"path":"a","options":"{\"deep\":\"true\"}"}`: `{"path":"a","options":{"deep":true}}`,
		// a string stays what it is, whatever it looks like
		`{"path":"[\"a\", \"b\"]"}`: `{"path":"[\"a\", \"b\"]"}`,
		`{"path":"{\"a\": 1}"}`:     `{"path":"{\"a\": 1}"}`,
		`{"path":"null"}`:           `{"path":"null"}`,
		`{"path":"1e3 <&> \u2028"}`: `{"path":"1e3 <&> \u2028"}`,
		`{"path":"lone \ud800"}`:    "{\"path\":\"lone \\ufffd\"}",
		// parameters of other programs that ask for nothing
		`{"path":"a","background":false}`: `{"path":"a"}`,
		`{"path":"a","background":null}`:  `{"path":"a"}`,
	} {
		got, problem := checkArguments(everyKind, json.RawMessage(args))
		if problem != "" {
			t.Errorf("%s: %s", args, problem)
			continue
		}
		var g, w any
		if json.Unmarshal(got, &g) != nil || json.Unmarshal([]byte(want), &w) != nil || encode(g) != encode(w) {
			t.Errorf("%s\n got %s\nwant %s", args, got, want)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                                        `missing "path"`,
		`{"path":null}`:                             `missing "path"`,
		`{"Path":"a"}`:                              `unknown "Path"; missing "path"`,
		`{"path":"a","file_content":"y"}`:           `unknown "file_content"`,
		`{"path":["a"]}`:                            `"path" must be a string, not ["a"]`,
		`{"path":{"a":1}}`:                          `"path" must be a string, not {"a":1}`,
		`{"path":"a","limit":"five"}`:               `"limit" must be an integer of at least 1 and at most 100, not "five"`,
		`{"path":"a","limit":1.5}`:                  `"limit" must be an integer of at least 1 and at most 100, not 1.5`,
		`{"path":"a","limit":0}`:                    `not 0`,
		`{"path":"a","limit":101}`:                  `not 101`,
		`{"path":"a","limit":99999999999999999999}`: `not 99999999999999999999`,
		`{"path":"a","limit":1e999999999}`:          `not 1e999999999`,
		`{"path":"a","limit":true}`:                 `not true`,
		`{"path":"a","limit":[5]}`:                  `not [5]`,
		`{"path":"a","ratio":-0.1}`:                 `"ratio" must be a number of at least 0, not -0.1`,
		`{"path":"a","ratio":"NaN"}`:                `not "NaN"`,
		`{"path":"a","ratio":"Infinity"}`:           `not "Infinity"`,
		`{"path":"a","ratio":"0x10"}`:               `not "0x10"`,
		`{"path":"a","ratio":1e999}`:                `not 1e999`,
		`{"path":"a","all":"yes"}`:                  `"all" must be a boolean, not "yes"`,
		`{"path":"a","all":1}`:                      `not 1`,
		`{"path":"a","mode":"append"}`:              `"mode" must be one of "replace","patch", not "append"`,
		`{"path":"a","urls":{"b":1}}`:               `"urls" must be an array, not {"b":1}`,
		`{"path":"a","urls":[["b"]]}`:               `"urls" must be an array whose element 1 is a string, not ["b"]`,
		`{"path":"a","urls":[null]}`:                `element 1 is a string, not null`,
		`{"path":"a","options":[]}`:                 `"options" must be an object, not []`,
		`{"path":"a","options":{}}`:                 `missing "deep"`,
		`{"path":"a","background":true}`:            `"background" is not available: run it in the foreground`,
		`[]`:                                        `not a JSON object`,
		`null`:                                      `not a JSON object`,
		`"{}"`:                                      `not a JSON object`,
		``:                                          `not a JSON object`,
		`{"path":"a"`:                               `not a JSON object`,
		`{"path":"a"} {}`:                           `not a JSON object`,
		`{"path":NaN}`:                              `not a JSON object`,
		`{"limit":-Infinity}`:                       `not a JSON object`,
		`{"path":"` + strings.Repeat("x", 99) + `","urls":{"` + strings.Repeat("y", 5000) + `":1}}`: `…`,
	} {
		got, problem := checkArguments(everyKind, json.RawMessage(args))
		if !strings.Contains(problem, want) {
			t.Errorf("%s\n got %s %q\nwant a problem with %q", args, got, problem, want)
		}
		if len(problem) > 2_000 {
			t.Errorf("%.60s: the message has %d bytes", args, len(problem))
		}
	}
}

// A near miss costs one turn, since the message names what is expected and what was given.
func TestArgumentsMessage(t *testing.T) {
	_, got := checkArguments(writeFile{}.Spec(), json.RawMessage(`{"path":"x","file_content":"y"}`))
	want := `bad arguments for write_file: unknown "file_content"; missing "content". Expected: path (required), content (required). Given: path, file_content.`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Schemas from outside may be anything; what cannot be understood is not checked.
func TestLenientSchema(t *testing.T) {
	for _, parameters := range []string{
		``, `null`, `[]`, `{"properties":[]}`, `{"type":["object","null"],"properties":{"a":{"type":["string","null"]}}}`,
		`{"properties":{"a":true}}`, `{"properties":{"a":{"enum":5,"minimum":"x"}},"required":"a"}`,
		`{"additionalProperties":{"type":"string"}}`,
	} {
		got, problem := checkArguments(Spec{Name: "odd", Parameters: json.RawMessage(parameters)}, json.RawMessage(`{"a":[1]}`))
		if problem != "" || string(got) != `{"a":[1]}` {
			t.Errorf("%s: %s %s", parameters, got, problem)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"path":"a","limit":"5","urls":"x","options":{"deep":1},"ratio":1e5}`)
	f.Add(`{"path":5,"limit":1e-999999999,"all":"true","mode":"patch"}`)
	f.Add(`{"background":true,"anything":[[[[]]]],"path":null}`)
	f.Add(`{"path":"\ud800","urls":"[1,2"}`)
	f.Fuzz(func(t *testing.T, args string) {
		got, problem := checkArguments(everyKind, json.RawMessage(args))
		if problem != "" {
			return
		}
		var typed struct {
			Path     *string  `json:"path"`
			Mode     string   `json:"mode"`
			Limit    int      `json:"limit"`
			Ratio    float64  `json:"ratio"`
			All      bool     `json:"all"`
			URLs     []string `json:"urls"`
			Options  *struct{ Deep bool }
			Anything any `json:"anything"`
		}
		if err := json.Unmarshal(got, &typed); err != nil {
			t.Fatalf("%s became %s, which does not fit: %v", args, got, err)
		}
		if typed.Path == nil || typed.Limit < 0 || typed.Limit > 100 || typed.Ratio < 0 {
			t.Fatalf("%s became %s, against the schema", args, got)
		}
		if again, problem := checkArguments(everyKind, got); problem != "" || string(again) != string(got) {
			t.Fatalf("%s became %s, and that %s %s", args, got, again, problem)
		}
	})
}
