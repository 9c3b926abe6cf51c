package db

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestFormatNamesTheBuckets holds FORMAT.md and the package comment against the
// buckets and keys that the code makes.
func TestFormatNamesTheBuckets(t *testing.T) {
	s := sampleStore(t, filepath.Join(t.TempDir(), "run.db"))
	defer closeSound(t, s)
	used := map[string]bool{}
	err := s.view(func(tx reader) error {
		return tx.ForEach(func(name []byte, in *bolt.Bucket) error {
			used[string(name)] = in.Stats().KeyN > 0
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for _, row := range tableRows(t, "## Layout") {
		name := strings.Trim(row[0], "`")
		if !slices.Contains(described, name) {
			described = append(described, name)
		}
		if reserved := strings.HasPrefix(row[1], "reserved"); reserved == used[name] {
			t.Errorf("bucket %s: reserved %v, used %v", name, reserved, used[name])
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(slices.Values(described))); d != "" {
		t.Errorf("buckets made (-) and described (+):\n%s", d)
	}
	var inOrder []string
	for _, name := range bucketNames {
		inOrder = append(inOrder, string(name))
	}
	if d := cmp.Diff(inOrder, described); d != "" {
		t.Errorf("order of FORMAT.md:\n%s", d)
	}
	var pictured []string
	doc, _, _ := strings.Cut(string(readFile(t, "doc.go")), "# Writing")
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z]+)  +\S`).FindAllStringSubmatch(doc, -1) {
		pictured = append(pictured, m[1])
	}
	if d := cmp.Diff(inOrder, pictured); d != "" {
		t.Errorf("package comment:\n%s", d)
	}
}

// tableRows returns the cells of the table that follows a heading of FORMAT.md.
func tableRows(t *testing.T, heading string) [][]string {
	t.Helper()
	_, text, ok := strings.Cut(string(readFile(t, "FORMAT.md")), heading+"\n")
	if !ok {
		t.Fatalf("FORMAT.md has no %q", heading)
	}
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "|"), " | ") {
			cells = append(cells, strings.TrimSpace(c))
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 { // head, line, at least one row
		t.Fatalf("no table under %q", heading)
	}
	return rows[2:]
}

func TestFormatNamesKindsAndEnds(t *testing.T) {
	var kinds []string
	for _, row := range tableRows(t, "### Payloads of steps") {
		kinds = append(kinds, row[0]+" "+row[1])
	}
	var want []string
	for k := KindAttempt; newRecord(k) != nil; k++ {
		want = append(want, fmt.Sprintf("%d %s", k, k))
	}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Error(d)
	}
	name := strings.NewReplacer("`", "", "|", "", " ", "", "none", "")
	for i, row := range tableRows(t, "### Heads of outcomes") {
		end, class := name.Replace(row[1]), ""
		if len(row) > 2 {
			class = name.Replace(row[2])
		}
		if end != ends[i] || i < len(classes) && class != classes[i] {
			t.Errorf("row %d: end %q, class %q", i, end, class)
		}
	}
}

// TestHashVectors computes every vector of FORMAT.md, whose values come from
// another implementation.
func TestHashVectors(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	unhex := func(s string) []byte {
		data, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	payload := regexp.MustCompile("payload `([0-9a-f]+)`")
	p := PromptHash("What is 2+2?", "", "")
	head := sessionHead(p, 0, 0)
	var step Hash
	got := []func(row string) Hash{
		func(string) Hash { return HashParts("") },
		func(string) Hash { return HashParts("a", nil, b("bc")) },
		func(string) Hash { return HashParts("a", b("b"), b("c")) },
		func(string) Hash { return p },
		func(string) Hash { return PromptHash("Grüße, 世界", "python:3.12", "/srv/x") },
		func(string) Hash { return settingsHash(b(`{"model":"simulated"}`)) },
		func(string) Hash { return head },
		func(string) Hash { return sessionHead(p, 1, 2) },
		func(row string) Hash {
			step = stepHash(head, unhex(payload.FindStringSubmatch(row)[1]))
			return step
		},
		func(row string) Hash { return stepHash(step, unhex(payload.FindStringSubmatch(row)[1])) },
	}
	rows := tableRows(t, "### Test vectors")
	if len(rows) != len(got) {
		t.Fatalf("%d vectors, %d are tested", len(rows), len(got))
	}
	for i, row := range rows {
		if h := got[i](row[0]); "`"+h.String()+"`" != row[1] {
			t.Errorf("%.60s: %s, FORMAT.md says %s", row[0], h, row[1])
		}
	}
	for _, want := range []struct {
		row    int
		record Record
	}{
		{8, &Attempt{Parent: -1, ForkStep: -1, Reason: "start", Launch: 1}},
		{9, &Turn{Entry: Entry{From: "gpt", Value: "4"}, Raw: b(`{"choices":[]}`), Launch: 1}},
	} {
		data, err := want.record.appendPayload(nil)
		if err != nil {
			t.Fatal(err)
		}
		if in := payload.FindStringSubmatch(rows[want.row][0])[1]; hex.EncodeToString(data) != in {
			t.Errorf("%s is encoded as\n%x, FORMAT.md says\n%s", want.record.kind(), data, in)
		}
	}
}

// TestSampleIsAsEver compares every value of a small store with the golden one.
func TestSampleIsAsEver(t *testing.T) {
	s := sampleStore(t, filepath.Join(t.TempDir(), "run.db"))
	defer closeSound(t, s)
	got := dump(t, s)
	golden := filepath.Join("testdata", "sample.golden")
	if *update {
		writeFile(t, golden, []byte(got))
	}
	if d := cmp.Diff(strings.Split(string(readFile(t, golden)), "\n"), strings.Split(got, "\n")); d != "" {
		t.Error(d)
	}
}

// dump writes all values of a store, packed ones unpacked.
func dump(tb testing.TB, s *Store) string {
	tb.Helper()
	var out strings.Builder
	err := s.view(func(tx reader) error {
		for b := range bucketCount {
			err := b.of(tx).ForEach(func(k, v []byte) error {
				text, err := describe(tx, b, k, v)
				fmt.Fprintf(&out, "%s %x\n  %s\n", b, k, text)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func describe(tx reader, b bucket, k, v []byte) (string, error) {
	switch b {
	case bucketMeta:
		if bytes.Equal(k, keyFormat) || bytes.Equal(k, keyVersion) {
			return string(v), nil
		}
	case bucketIdentities:
		return hex.EncodeToString(v), nil
	case bucketSettings:
		raw, err := unpack(tx, v)
		return fmt.Sprintf("%q", raw), err
	case bucketTurns:
		raw, err := unpack(tx, v[stepHead:])
		return fmt.Sprintf("%x %q", v[:stepHead], raw), err
	case bucketBlobs:
		raw, err := unpack(tx, v[1:])
		return fmt.Sprintf("%x %q", v[:1], raw), err
	}
	v, err := unseal(k, v)
	if err != nil {
		return "", err
	}
	switch {
	case b == bucketPrompts:
		raw, err := unpack(tx, v[promptHead:])
		return fmt.Sprintf("%x %q", v[:promptHead], raw), err
	case b == bucketOutcomes && k[0] == outcomeWhole:
		raw, err := unpack(tx, v)
		return fmt.Sprintf("%q", raw), err
	}
	return fmt.Sprintf("%q", v), nil
}

// TestOldStoresOpen reads and goes on with a store that the first program with
// its format version made, after a crash.
func TestOldStoresOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db")
	name := filepath.Join("testdata", fmt.Sprintf("version-%d", formatVersion))
	packed, golden := name+".db.zst", name+".golden"
	if _, err := os.Stat(packed); *update && os.IsNotExist(err) { // never made again
		s := sampleStore(t, filepath.Join(t.TempDir(), "run.db"))
		writeFile(t, packed, encoder().EncodeAll(usedPart(t, s.Path()), nil))
		writeFile(t, golden, []byte(dump(t, s)))
		closeSound(t, s)
	}
	data, err := decoder().DecodeAll(readFile(t, packed), nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, data)
	s := openStore(t, path, Options{})
	if dump(t, s) != string(readFile(t, golden)) {
		t.Error("what version 1 wrote is read as something else")
	}
	if got := shape(t, s, 0); !strings.HasSuffix(got, "0.3-turn 1.0-attempt 1.1-turn") {
		t.Errorf("thread %s", got)
	}
	mustWait(t, openLog(t, s, 0).Append(gpt("on")))
	register(t, s, 2)
}

// TestDictionaryIsFrozen holds the dictionary against its hash in FORMAT.md, and
// reads the value there, which another implementation has compressed with it.
func TestDictionaryIsFrozen(t *testing.T) {
	if h := Hash(sha256.Sum256(dictionary)); !bytes.Contains(readFile(t, "FORMAT.md"), []byte("`"+h.String()+"`")) {
		t.Errorf("the dictionary has SHA-256 %s now: stores cannot be read with it", h)
	}
	row := tableRows(t, "implementation made:")[0]
	packed, err := hex.DecodeString(strings.Trim(row[0], "`"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := unpack(reader{}, packed)
	if err != nil || "`"+string(raw)+"`" != row[1] {
		t.Errorf("%s, %v", raw, err)
	}
	again, err := unpack(reader{}, pack(nil, raw))
	if err != nil || !bytes.Equal(again, raw) {
		t.Errorf("packed and unpacked: %s, %v", again, err)
	}
}

func TestHashText(t *testing.T) {
	h := HashParts("x")
	if got, err := ParseHash(h.String()); got != h || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if (Hash{}).IsZero() != true || h.IsZero() {
		t.Error("IsZero")
	}
	for _, bad := range []string{"", "00", h.String() + "0", strings.Repeat("g", 64), strings.Repeat("é", 32)} {
		if _, err := ParseHash(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if MakeOrdinal(7, 3).Index() != 7 || MakeOrdinal(7, 3).Rollout() != 3 || MakeOrdinal(7, 65535) >= MakeOrdinal(8, 0) {
		t.Error("ordinals do not sort as rows do")
	}
}
