package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// outside is where commands leave a trace of having run: the folder beside
// that of the sandboxes, as seen from a work folder.
const outside = "../../../../outside"

// ways are the prompts that a dataset has by turns: all the ways in which a
// prompt can end, and tools of all kinds. What they print is the same if a
// command runs twice or is ended in the middle, so that a row does not depend
// on it; that it ran is seen by the lines outside, each of which names the
// sandbox.
var ways = []string{
	"Run `touch made%[1]d; pwd >> " + outside + "/%[1]d; echo did %[1]d`, then run `ls`.",
	"Calculate %[1]d * 17, then add 5.",
	"[parallel] What is 15%% of %[1]d40?",
	"Create f%[1]d.txt with the lines 'a' and 'b', then append the line 'c' and read it back.",
	"Run `export N=%[1]d; pwd >> " + outside + "/%[1]d; cd /`, then run `echo $N; pwd`.",
	"[cut] Who was person number %[1]d in the list?",
	"[no-reasoning] Run `touch made%[1]d; pwd >> " + outside + "/%[1]d; ls`.",
	"[unknown-tool] Calculate %[1]d * 3.",
	"Run `touch made%[1]d; pwd >> " + outside + "/%[1]d; sleep 0.05; ls`, then run `sleep 60 > /dev/null 2>&1 & echo left %[1]d`.",
	"[max-turns] Count from %[1]d.",
	"[error 503] Who was person number %[1]d in the list?",
	"[error 400] Who was person number %[1]d in the list?",
	"[long 50000] Tell %[1]d stories.",
}

// some are prompts of all kinds by turns.
func some(n int) (kinds []int) {
	for i := range n {
		kinds = append(kinds, i%len(ways))
	}
	return kinds
}

// writeDataset writes a prompt of each kind in a list; the number in its text
// is that of the prompt.
func writeDataset(path string, kinds []int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := json.NewEncoder(f)
	for i, kind := range kinds {
		if err := out.Encode(map[string]any{"prompt": fmt.Sprintf(ways[kind], i), "n": i}); err != nil {
			return err
		}
	}
	return f.Sync()
}
