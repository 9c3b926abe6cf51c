package simulated

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkReply measures a whole request without a socket: decoding, thought
// and encoding.
func BenchmarkReply(b *testing.B) {
	material := strings.Repeat("A line of material that the question is about.\n", 200)
	for name, prompt := range map[string]string{
		"arithmetic": "What is 17 * 23?",
		"files":      "Create a file named notes.txt with the lines 'milk' and 'bread', then append the line 'eggs' and read it back.",
		"shell":      "Run `seq 1 20 | wc -l` and tell me what it prints.",
		"program":    "Write a shell script that prints the first 12 Fibonacci numbers and run it.",
		"stub":       "from typing import List\n\n\ndef rolling(numbers: List[int]) -> List[int]:\n    \"\"\" From a list of integers, make a list of rolling maximums.\n    >>> rolling([1, 2])\n    [1, 2]\n    \"\"\"\n",
		"general":    "What is the capital of France?",
		"long":       material + "Summarise this.",
	} {
		b.Run(name, func(b *testing.B) { benchmarkReply(b, prompt) })
	}
}

func benchmarkReply(b *testing.B, prompt string) {
	s, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	c := conversation{tools: allTools, messages: []map[string]any{{"role": "user", "content": prompt}}}
	body := string(c.body())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
