package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "hermes-batch"

// mayImport says which of this module's packages each of them may import; ""
// is the main package, which may import all. A package below one of these that
// has no row of its own follows the nearest one above it, which it may import
// as well.
var mayImport = map[string][]string{
	"db":               {},
	"engine":           {"db", "tools", "tools/sandbox", "engine/model", "engine/flags"},
	"engine/ctl":       {"db"},
	"engine/flags":     {},
	"engine/model":     {},
	"engine/simulated": {},
	"export":           {"db"},
	"tools":            {"tools/sandbox"},
	"tools/sandbox":    {},
}

// underTools is the rule for folders below tools without a row: one for each
// outside SDK.
var underTools = []string{"tools", "tools/sandbox"}

// onlyImporter says which package alone imports an outside module.
var onlyImporter = map[string]string{
	"go.etcd.io/bbolt":                  "db",
	"github.com/sashabaranov/go-openai": "engine/model",
	"github.com/peterbourgon/ff/v3":     "",
	"github.com/docker/docker":          "tools/sandbox",
	"github.com/parquet-go/parquet-go":  "export",
}

// A pkg is a package of this module: its path, and what its code imports on
// any system. Its tests may import what they need.
type pkg struct {
	path    string
	imports []string
}

func TestImports(t *testing.T) {
	pkgs := readPackages(t, ".")
	if len(pkgs) == 0 {
		t.Fatal("no packages found")
	}
	for _, wrong := range wrongImports(pkgs) {
		t.Error(wrong)
	}
}

// readPackages reads the import declarations of all packages below root, the
// module's folder, where the go command would see packages.
func readPackages(t *testing.T, root string) []pkg {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if file != root && strings.ContainsAny(entry.Name()[:1], "._") || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		name := path.Join(modulePath, filepath.ToSlash(filepath.Dir(file)))
		more, err := readImports(file)
		imports[name] = append(imports[name], more...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []pkg
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		slices.Sort(imports[name])
		pkgs = append(pkgs, pkg{name, slices.Compact(imports[name])})
	}
	return pkgs
}

func readImports(file string) (paths []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		paths = append(paths, imported)
	}
	return paths, nil
}

// wrongImports returns a sentence for each import that the tables forbid.
func wrongImports(pkgs []pkg) []string {
	var wrong []string
	for _, p := range pkgs {
		from, _ := ourPackage(p.path)
		allowed, known := allowedImports(from)
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s has no row in the import table", p.path))
			continue
		}
		for _, imported := range p.imports {
			if to, ours := ourPackage(imported); ours {
				if from != "" && !slices.Contains(allowed, to) {
					wrong = append(wrong, fmt.Sprintf("%s must not import %s", p.path, imported))
				}
			} else if module, owner := ownerOf(imported); module != "" && !within(from, owner) {
				wrong = append(wrong, fmt.Sprintf("%s must not import %s: only %s may", p.path, imported, path.Join(modulePath, owner)))
			}
		}
	}
	return wrong
}

// ourPackage returns the folder of a package of this module.
func ourPackage(importPath string) (folder string, ours bool) {
	if importPath == modulePath {
		return "", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

// allowedImports returns what a package may import of this module.
func allowedImports(folder string) (allowed []string, known bool) {
	if folder == "" {
		return nil, true
	}
	if row, ok := mayImport[folder]; ok {
		return row, true
	}
	if path.Dir(folder) == "tools" {
		return underTools, true
	}
	for above := path.Dir(folder); above != "."; above = path.Dir(above) {
		if row, ok := mayImport[above]; ok {
			return append(slices.Clip(row), above), true
		}
	}
	return nil, false
}

// ownerOf returns the outside module with a single importer that a package
// belongs to, "" if it belongs to none.
func ownerOf(importPath string) (module, owner string) {
	for module, owner := range onlyImporter {
		if importPath == module || strings.HasPrefix(importPath, module+"/") {
			return module, owner
		}
	}
	return "", ""
}

// within reports whether folder is owner or below it; only the main package
// itself is within "".
func within(folder, owner string) bool {
	return folder == owner || owner != "" && strings.HasPrefix(folder, owner+"/")
}

func TestWrongImportsAreNamed(t *testing.T) {
	tests := []struct {
		from, to string
		want     string // "" if it is allowed
	}{
		{"hermes-batch", "hermes-batch/db", ""},
		{"hermes-batch", "hermes-batch/tools/mcp", ""},
		{"hermes-batch", "github.com/peterbourgon/ff/v3/ffcli", ""},
		{"hermes-batch", "go.etcd.io/bbolt", "hermes-batch must not import go.etcd.io/bbolt: only hermes-batch/db may"},
		{"hermes-batch/db", "go.etcd.io/bbolt", ""},
		{"hermes-batch/db", "go.etcd.io/bbolt/errors", ""},
		{"hermes-batch/db", "github.com/klauspost/compress/zstd", ""},
		{"hermes-batch/db", "hermes-batch/export", "hermes-batch/db must not import hermes-batch/export"},
		{"hermes-batch/db", "hermes-batch", "hermes-batch/db must not import hermes-batch"},
		{"hermes-batch/engine", "hermes-batch/db", ""},
		{"hermes-batch/engine", "hermes-batch/export", "hermes-batch/engine must not import hermes-batch/export"},
		{"hermes-batch/engine", "github.com/sashabaranov/go-openai", "hermes-batch/engine must not import github.com/sashabaranov/go-openai: only hermes-batch/engine/model may"},
		{"hermes-batch/engine/model", "github.com/sashabaranov/go-openai", ""},
		{"hermes-batch/engine/model", "hermes-batch/db", "hermes-batch/engine/model must not import hermes-batch/db"},
		{"hermes-batch/engine/flags", "github.com/peterbourgon/ff/v3", "hermes-batch/engine/flags must not import github.com/peterbourgon/ff/v3: only hermes-batch may"},
		{"hermes-batch/engine/ctl", "hermes-batch/engine", "hermes-batch/engine/ctl must not import hermes-batch/engine"},
		{"hermes-batch/export", "github.com/parquet-go/parquet-go", ""},
		{"hermes-batch/tools", "github.com/docker/docker/client", "hermes-batch/tools must not import github.com/docker/docker/client: only hermes-batch/tools/sandbox may"},
		{"hermes-batch/tools/sandbox", "github.com/docker/docker/client", ""},
		{"hermes-batch/tools/sandbox/sandboxtest", "hermes-batch/tools/sandbox", ""},
		{"hermes-batch/tools/sandbox/sandboxtest", "hermes-batch/tools", "hermes-batch/tools/sandbox/sandboxtest must not import hermes-batch/tools"},
		{"hermes-batch/tools/mcp", "hermes-batch/tools", ""},
		{"hermes-batch/tools/mcp", "hermes-batch/db", "hermes-batch/tools/mcp must not import hermes-batch/db"},
		{"hermes-batch/tools", "hermes-batch/tools/mcp", "hermes-batch/tools must not import hermes-batch/tools/mcp"},
		{"hermes-batch/utils", "fmt", "hermes-batch/utils has no row in the import table"},
	}
	for _, tt := range tests {
		got := strings.Join(wrongImports([]pkg{{tt.from, []string{"fmt", tt.to}}}), "\n")
		if got != tt.want {
			t.Errorf("%s imports %s\ngot  %q\nwant %q", tt.from, tt.to, got, tt.want)
		}
	}
}
