package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// object is a JSON object with its keys in order.
type object struct {
	keys   []string
	values map[string]any
}

// decode reads one JSON value: objects become *object, numbers json.Number.
func decode(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		o := &object{values: map[string]any{}}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name := key.(string)
			if _, twice := o.values[name]; twice {
				return nil, fmt.Errorf("key %q twice", name)
			}
			o.keys = append(o.keys, name)
			if o.values[name], err = decode(dec); err != nil {
				return nil, err
			}
		}
		_, err := dec.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decode(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return tok, nil
}

// columns are what the Parquet copy has to show for one line of
// trajectories.jsonl.
func columns(line []byte) (row map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	value, err := decode(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value: %v", err)
	}
	defer func() { // of a value that has another type
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	o := value.(*object)
	for _, name := range []string{"conversations", "tool_stats", "tool_error_counts"} {
		if o.values[name] == nil {
			return nil, fmt.Errorf("no %s", name)
		}
	}
	conversations := []any{}
	for _, entry := range o.values["conversations"].([]any) {
		conversations = append(conversations, message(entry.(*object)))
	}
	stats, counts := []any{}, []any{}
	tools := o.values["tool_stats"].(*object)
	for _, name := range tools.keys {
		stat := plain(tools.values[name]).(map[string]any)
		stat["name"] = name
		stats = append(stats, stat)
	}
	failures := o.values["tool_error_counts"].(*object)
	for _, name := range failures.keys {
		counts = append(counts, map[string]any{"name": name, "count": plain(failures.values[name])})
	}
	for _, name := range []string{"conversations", "tool_stats", "tool_error_counts"} {
		delete(o.values, name)
	}
	row = plain(o).(map[string]any)
	row["conversations"], row["tool_stats"], row["tool_error_counts"] = conversations, stats, counts
	return row, nil
}

// message is an entry of a conversation with all its columns.
func message(entry *object) map[string]any {
	columns := map[string]any{"from": nil, "value": nil, "reasoning": "", "tool_calls": []any{}, "tool_call_id": "", "name": ""}
	for name, value := range entry.values {
		if _, known := columns[name]; !known {
			panic("unknown key " + name)
		}
		columns[name] = value
	}
	calls := []any{}
	for _, c := range columns["tool_calls"].([]any) {
		call := plain(c).(map[string]any)
		function := call["function"].(map[string]any)
		calls = append(calls, map[string]any{"id": call["id"], "type": call["type"], "name": function["name"], "arguments": function["arguments"]})
	}
	columns["tool_calls"] = calls
	return columns
}

// plain turns decoded JSON into the types that columns have: a number with a
// fraction is a float64, every other an int64.
func plain(value any) any {
	switch value := value.(type) {
	case *object:
		m := map[string]any{}
		for name, v := range value.values {
			m[name] = plain(v)
		}
		return m
	case []any:
		list := []any{}
		for _, v := range value {
			list = append(list, plain(v))
		}
		return list
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		f, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return f
	}
	return value
}
