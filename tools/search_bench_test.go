package tools

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes-batch/tools/sandbox"
)

var benchTree = flag.String("tree", "", "`folder` for BenchmarkSearchFiles to search; a made-up tree if it is not set")

// Beside each search stands ripgrep's, where that is installed.
func BenchmarkSearchFiles(b *testing.B) {
	tree := *benchTree
	if tree == "" {
		tree = madeUpTree(b)
	}
	box, err := sandbox.OpenLocal(sandbox.LocalOptions{Base: filepath.Join(b.TempDir(), "box"), Cwd: tree})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := box.Close(b.Context(), true); err != nil {
			b.Error(err)
		}
	})
	for _, c := range []struct {
		name, args string
		rg         []string
	}{
		{"literal", `{"pattern":"zq7needle"}`, []string{"zq7needle"}},
		{"regexp", `{"pattern":"\\bfunc [A-Z]\\w+Error\\("}`, []string{`\bfunc [A-Z]\w+Error\(`}},
		{"alternatives", `{"pattern":"(?i)todo:|fixme:"}`, []string{`(?i)todo:|fixme:`}},
		{"no literal", `{"pattern":"[0-9]{7,}"}`, []string{"[0-9]{7,}"}},
		{"glob", `{"pattern":"error","file_glob":"*.md"}`, []string{"error", "-g", "*.md"}},
		{"names", `{"pattern":"*.go","target":"files"}`, []string{"--files", "-g", "*.go"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				call := &Call{Args: json.RawMessage(c.args), Key: "k", Sandbox: box, Shell: sandbox.Shell{Cwd: box.Root()}}
				if r, err := Run(b.Context(), searchFiles{}, call); err != nil || !r.Success {
					b.Fatal(r.Text, err)
				}
			}
		})
		b.Run(c.name+"/rg", func(b *testing.B) {
			if _, err := exec.LookPath("rg"); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				rg := exec.CommandContext(b.Context(), "rg", append([]string{"--no-config", "--no-require-git", "--no-messages"}, c.rg...)...)
				rg.Dir = tree
				if err := rg.Run(); err != nil && rg.ProcessState.ExitCode() < 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// madeUpTree has 5,000 files of some 6 KB in folders within each other, a tenth of them ignored.
func madeUpTree(b *testing.B) string {
	tree := b.TempDir()
	text := strings.Repeat("func (s *server) handle(w http.ResponseWriter, r *http.Request) error {\n\treturn s.next(w, r) // TODO\n}\n\n", 60)
	writeTree(b, filepath.Join(tree, ".gitignore"), "*.gen\n/build/\n")
	for i := range 5_000 {
		name := fmt.Sprintf("a%d/b%d/c%d/file%d.%s", i%7, i%49, i%343, i, []string{"go", "md", "txt", "gen", "go", "c", "h", "py", "js", "go"}[i%10])
		writeTree(b, filepath.Join(tree, name), fmt.Sprintf("%spart %d\n", text, i))
	}
	return tree
}

func writeTree(b *testing.B, path, text string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		b.Fatal(err)
	}
}
