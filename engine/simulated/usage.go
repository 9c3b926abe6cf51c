package simulated

import (
	"fmt"
	"strings"
)

// Intro opens the help of the verb that serves the model: what it is for, and
// the markers.
func Intro() string {
	var b strings.Builder
	b.WriteString(`Serves the embedded model as an OpenAI-compatible endpoint.

Usage:
  hermes-batch simulate --addr=127.0.0.1:PORT [flags]
  hermes-batch --base_url=http://127.0.0.1:PORT/v1 [flags]

Words in square brackets anywhere in a prompt change its replies:
`)
	for _, m := range Markers() {
		fmt.Fprintf(&b, "  %-20s %s\n", m.Form, m.Effect)
	}
	return b.String()
}
