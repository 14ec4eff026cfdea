//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

type scannedEntry struct {
	name        string
	kind, state byte
	size, mtime int64
	data        []byte // nil if the entry has no data
}

// decodeScan decodes an answer to a scan, and fails the test if the answer does not have the exact format.
func decodeScan(t testing.TB, answer []byte) (entries []scannedEntry, more bool) {
	t.Helper()
	if len(answer) < abi.ScanHeader || answer[0] != abi.ScanVersion || answer[1]&^abi.ScanMore != 0 || answer[2] != 0 || answer[3] != 0 {
		t.Fatalf("got %.300q", answer)
	}
	count, rest := binary.LittleEndian.Uint32(answer[4:]), answer[abi.ScanHeader:]
	for range count {
		e := scannedEntry{kind: rest[6], state: rest[7], size: int64(binary.LittleEndian.Uint64(rest[8:])), mtime: int64(binary.LittleEndian.Uint64(rest[16:]))}
		length, name := binary.LittleEndian.Uint32(rest), int(binary.LittleEndian.Uint16(rest[4:]))
		e.name, rest = string(rest[abi.ScanEntry:abi.ScanEntry+name]), rest[abi.ScanEntry+name:]
		if length != abi.ScanNone {
			e.data, rest = append([]byte{}, rest[:length]...), rest[length:]
		}
		entries = append(entries, e)
	}
	if len(rest) != 0 {
		t.Fatalf("%d bytes follow the last entry", len(rest))
	}
	return entries, answer[1] == abi.ScanMore
}

func scanRequest(t testing.TB, q abi.Scan) []byte {
	t.Helper()
	params, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(`{"op":"` + abi.OpFSScan + `","params":` + string(params) + `}`)
}

// text describes an entry without its time.
func (e scannedEntry) text() string {
	data := "none"
	if e.data != nil {
		data = fmt.Sprintf("%.20q", e.data)
	}
	return fmt.Sprintf("%s %#x state %d size %d %s", e.name, e.kind, e.state, e.size, data)
}

func texts(entries []scannedEntry) string {
	var lines []string
	for _, e := range entries {
		lines = append(lines, e.text())
	}
	return strings.Join(lines, "\n")
}

// scanBox grants $W/scan, with files of every kind.
func scanBox(t testing.TB, change ...func(*Config)) (w world, box *Box) {
	t.Helper()
	w = newWorld(t)
	for name, content := range map[string]string{
		"a.md": "# a", "b.txt": "b", "empty.md": "", "big.md": strings.Repeat("x", 1000), ".env": "secret", "bulkhead.toml": "",
		"sub/c.md": "c", "sub/deeper/d.md": "d", "skipped/e.md": "e", ".bulkhead-x/f": "",
	} {
		file := filepath.Join(w.path("$W/scan"), name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"in.md": "sub/c.md", "out.md": w.path("$W/other/secret.md"), "dir.md": "sub", "env.md": ".env"} {
		if err := os.Symlink(target, filepath.Join(w.path("$W/scan"), name)); err != nil {
			t.Fatal(err)
		}
	}
	grant := w.grant("r $W/scan")
	grant.Deny = []string{"**/.env"}
	c, err := openGrant(Setup{Plugin: "p", Grant: grant})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&c)
	}
	if box, err = New(c); err != nil {
		t.Fatal(err)
	}
	return w, box
}

func TestScanListsEntriesWithData(t *testing.T) {
	w, box := scanBox(t)
	const plain = `a.md 0x4 state 0 size 3 "# a"
b.txt 0x4 state 0 size 1 none
big.md 0x4 state 1 size 1000 none
`
	for name, c := range map[string]struct {
		query abi.Scan
		want  string
	}{
		"names only": {abi.Scan{Path: "$W/scan/sub"}, "c.md 0x4 state 0 size 1 none\ndeeper 0x3 state 0 size D none"},
		"content": {abi.Scan{Path: "$W/scan", Match: []string{"*.md"}, MaxFile: 100, Depth: 2, Skip: []string{"skip*"}}, plain +
			`dir.md 0x7 state 0 size L none
empty.md 0x4 state 0 size 0 ""
env.md 0x7 state 0 size L none
in.md 0x7 state 0 size L none
out.md 0x7 state 0 size L none
skipped 0x3 state 0 size D none
sub 0x3 state 0 size D none
sub/c.md 0x4 state 0 size 1 "c"
sub/deeper 0x3 state 0 size D none`},
		"links followed": {abi.Scan{Path: "$W/scan", Match: []string{"*.md"}, MaxFile: 100, Follow: true}, plain +
			`dir.md 0x83 state 0 size D none
empty.md 0x4 state 0 size 0 ""
env.md 0x7 state 4 size L none
in.md 0x84 state 0 size 1 "c"
out.md 0x7 state 4 size L none
skipped 0x3 state 0 size D none
sub 0x3 state 0 size D none`},
		"behind a name": {abi.Scan{Path: "$W/scan", Depth: 9, After: "sub/c.md"}, "sub/deeper 0x3 state 0 size D none\nsub/deeper/d.md 0x4 state 0 size 1 none"},
		"virtual":       {abi.Scan{Path: "$W"}, "scan 0x3 state 0 size D none"},
		"an empty one":  {abi.Scan{Path: "$W/scan/sub/deeper", After: "d.md"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.query.Path = w.path(c.query.Path)
			entries, more := decodeScan(t, box.Operate(t.Context(), scanRequest(t, c.query)))
			got := []string{}
			for _, e := range entries {
				info, err := os.Lstat(filepath.Join(c.query.Path, e.name))
				if e.kind&abi.ScanLinked != 0 {
					info, err = os.Stat(filepath.Join(c.query.Path, e.name))
				}
				if err != nil || info.Size() != e.size || info.ModTime().UnixNano() != e.mtime {
					t.Errorf("%s: size %d and time %d are not those of the file: %v", e.name, e.size, e.mtime, err)
				}
				text := e.text()
				if e.kind&0x7f == abi.ScanDirectory {
					text = strings.Replace(text, fmt.Sprintf("size %d", e.size), "size D", 1)
				}
				if e.kind == abi.ScanLink {
					text = strings.Replace(text, fmt.Sprintf("size %d", e.size), "size L", 1)
				}
				got = append(got, text)
			}
			if text := strings.Join(got, "\n"); text != c.want || more {
				t.Errorf("got (more: %t)\n%s\nwant\n%s", more, text, c.want)
			}
		})
	}
}

func TestScanContinuesAfterEachAnswer(t *testing.T) {
	w, box := scanBox(t)
	q := abi.Scan{Path: w.path("$W/scan"), Depth: 5, Match: []string{"*"}, Follow: true}
	want, more := decodeScan(t, box.Operate(t.Context(), scanRequest(t, q)))
	if more || len(want) < 10 {
		t.Fatalf("got %d entries, more: %t", len(want), more)
	}
	for _, q.Max = range []int64{1, 60, 100, 300, 1100} {
		var got []scannedEntry
		q.After = ""
		for answers := 0; ; answers++ {
			answer := box.Operate(t.Context(), scanRequest(t, q))
			entries, more := decodeScan(t, answer)
			if len(entries) == 0 || answers > len(want) {
				t.Fatalf("max %d: got %d entries in answer %d, want fewer answers with at least one entry", q.Max, len(entries), answers)
			}
			if int64(len(answer)) > q.Max && len(entries) > 1 {
				t.Errorf("max %d: an answer has %d bytes and %d entries", q.Max, len(answer), len(entries))
			}
			got = append(got, entries...)
			if !more {
				break
			}
			q.After = entries[len(entries)-1].name
		}
		if texts(got) != texts(want) {
			t.Errorf("max %d: got\n%s\nwant\n%s", q.Max, texts(got), texts(want))
		}
	}
}

// An answer may have exactly max bytes, and a file exactly max_file.
func TestScanBoundsAreInclusive(t *testing.T) {
	w, box := scanBox(t)
	q := abi.Scan{Path: w.path("$W/scan/sub"), Match: []string{"*"}}
	whole := box.Operate(t.Context(), scanRequest(t, q))
	for less, want := range []bool{false, true} {
		q.Max = int64(len(whole) - less)
		if _, more := decodeScan(t, box.Operate(t.Context(), scanRequest(t, q))); more != want {
			t.Errorf("max %d of an answer of %d bytes: more is %t", q.Max, len(whole), more)
		}
	}
	for maxFile, want := range map[int64]string{1000: "state 0", 999: "state 1"} {
		q := abi.Scan{Path: w.path("$W/scan"), Match: []string{"big.md"}, MaxFile: maxFile}
		if entries, _ := decodeScan(t, box.Operate(t.Context(), scanRequest(t, q))); !strings.Contains(texts(entries), "big.md 0x4 "+want) {
			t.Errorf("max_file %d: got %s", maxFile, texts(entries))
		}
	}
}

// Each charge is stated in bytes here: of an entry, of reading a file, of its content, and of comparing its name.
func TestScanChargesEachSystemCall(t *testing.T) {
	for match, want := range map[string]int{"": 2 * 16 << 10, "c.md": 2*16<<10 + 4*16<<10 + 4*4 + 1} {
		spent := 0
		w, box := scanBox(t, func(c *Config) { c.Spend = func(_ context.Context, bytes int) { spent += bytes } })
		q := abi.Scan{Path: w.path("$W/scan/sub")}
		if match != "" {
			q.Match = []string{match}
		}
		box.Operate(t.Context(), scanRequest(t, q))
		want += 2 * 1024 // the names of the directory
		if spent != want {
			t.Errorf("match %q: charged %d, want %d", match, spent, want)
		}
	}
}

// An answer says that names were left out, since no operation accepts them.
func TestScanSaysThatItOmitsNames(t *testing.T) {
	w, box := scanBox(t)
	for _, want := range []byte{0, abi.ScanOmits} {
		if answer := box.Operate(t.Context(), scanRequest(t, abi.Scan{Path: w.path("$W/scan/sub")})); answer[0] != abi.ScanVersion || answer[1] != want {
			t.Errorf("got the flags %#x, want %#x", answer[1], want)
		}
		if err := os.WriteFile(w.path("$W/scan/sub/\xff"), nil, 0o644); err != nil {
			t.Skip("the file system accepts names in UTF-8 only")
		}
	}
}

// A fatal error of a derive function ends the scan at once.
func TestScanDerivesNothingAfterError(t *testing.T) {
	calls := 0
	w, box := scanBox(t, func(c *Config) {
		c.Derive = func(context.Context, Derivation, DerivedFile) ([]byte, error) {
			calls++
			return nil, fmt.Errorf("broken: %w", fs.ErrNotExist) // which is not the error of a file that has changed
		}
	})
	box.Operate(t.Context(), scanRequest(t, abi.Scan{Path: w.path("$W/scan"), Match: []string{"*"}, Data: "derived"}))
	if calls != 1 {
		t.Errorf("the derive function was called %d times", calls)
	}
}

// A file that is replaced by a directory after its name was listed has no digest.
func TestScanOfReplacedFileHasNoDigest(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"a directory":  func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		"nothing":      os.Remove,
		"other bytes":  func(path string) error { return os.WriteFile(path, []byte("changed"), 0o644) },
		"another file": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, []byte("new"), 0o644)) },
	} {
		for _, data := range []string{abi.ScanDataContent, abi.ScanDataSHA256} {
			var w world
			replaced := false
			w, box := scanBox(t, func(c *Config) {
				c.Spend = func(_ context.Context, bytes int) {
					if bytes == 4*16<<10 && !replaced { // the charge for reading the file, after it was described
						replaced = true
						if err := replace(w.path("$W/scan/sub/c.md")); err != nil {
							t.Error(err)
						}
					}
				}
			})
			entries, _ := decodeScan(t, box.Operate(t.Context(), scanRequest(t, abi.Scan{Path: w.path("$W/scan/sub"), Match: []string{"c.md"}, Data: data})))
			want, err := os.ReadFile(w.path("$W/scan/sub/c.md"))
			if err == nil && data == abi.ScanDataSHA256 {
				sum := sha256.Sum256(want)
				want = sum[:]
			}
			if !replaced || !bytes.Equal(entries[0].data, want) || (entries[0].state == abi.ScanUnreadable) != (err != nil) {
				t.Errorf("%s, %s: got %s", name, data, entries[0].text())
			}
		}
	}
}

// What does not fit into an answer is not read for it.
func TestScanDoesNotReadWhatDoesNotFit(t *testing.T) {
	spent := 0
	w, box := scanBox(t, func(c *Config) { c.Spend = func(_ context.Context, bytes int) { spent += bytes } })
	testenv.WriteFiles(t, w.path("$W/scan/new"), map[string]string{"a": "a", "b": strings.Repeat("b", 1000)})
	entries, more := decodeScan(t, box.Operate(t.Context(), scanRequest(t, abi.Scan{Path: w.path("$W/scan/new"), Match: []string{"*"}, Max: 500})))
	// Two names are listed, compared and described, and reading their files is charged, but the content of the first file only.
	if want := 2*(1024+1+16<<10+4*16<<10) + 1; len(entries) != 1 || !more || spent != want {
		t.Errorf("got %s, charged %d bytes, want %d", texts(entries), spent, want)
	}
}

func TestScanShowsWhatCannotBeRead(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	derived := 0
	w, box := scanBox(t, func(c *Config) {
		c.Derive = func(_ context.Context, _ Derivation, file DerivedFile) ([]byte, error) {
			derived++
			return file.Read()
		}
	})
	for _, name := range []string{"$W/scan/sub/c.md", "$W/scan/sub/deeper"} {
		if err := os.Chmod(w.path(name), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(w.path(name), 0o755) })
	}
	entries, _ := decodeScan(t, box.Operate(t.Context(), scanRequest(t, abi.Scan{Path: w.path("$W/scan/sub"), Match: []string{"*"}, Depth: 2, Data: abi.ScanDataDerived})))
	if len(entries) != 2 || entries[0].state != abi.ScanUnreadable || entries[1].state != abi.ScanUnreadable || derived != 1 {
		t.Errorf("got %s; the derive function was called %d times", texts(entries), derived)
	}
}

func TestScanComputesDigestsWithoutDerive(t *testing.T) {
	w, box := scanBox(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // larger than copyPiece
	if err := os.WriteFile(w.path("$W/scan/sub/big.bin"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	entries, _ := decodeScan(t, box.Operate(t.Context(), scanRequest(t, abi.Scan{Path: w.path("$W/scan/sub"), Match: []string{"*"}, Data: "sha256"})))
	for name, content := range map[string][]byte{"big.bin": big, "c.md": []byte("c")} {
		want := sha256.Sum256(content)
		if i := slices.IndexFunc(entries, func(e scannedEntry) bool { return e.name == name }); i < 0 || !bytes.Equal(entries[i].data, want[:]) {
			t.Errorf("%s does not have the digest of its content: got %s", name, texts(entries))
		}
	}
}

func TestScanReturnsDerivedData(t *testing.T) {
	var reads []string
	derive := func(_ context.Context, kind Derivation, file DerivedFile) ([]byte, error) {
		if file.Stat.Size == 0 {
			return []byte("cached"), nil
		}
		content, err := file.Read()
		if err != nil {
			return nil, err
		}
		reads = append(reads, string(content))
		switch string(content) {
		case "b":
			return nil, fmt.Errorf("trap: %w", ErrDerive)
		case "# a":
			return make([]byte, 1<<20+1), nil
		}
		return fmt.Appendf(nil, "%d:%s", kind.Function, content), nil
	}
	w, box := scanBox(t, func(c *Config) { c.Derive = derive })
	q := abi.Scan{Path: w.path("$W/scan"), Match: []string{"a.md", "b.txt", "empty.md", "in.md"}, Data: "derived", Function: 7, Follow: true}
	entries, _ := decodeScan(t, box.Operate(t.Context(), scanRequest(t, q)))
	got := map[string]string{}
	for _, e := range entries {
		got[e.name] = e.text()
	}
	for name, want := range map[string]string{
		"a.md": "a.md 0x4 state 3 size 3 none", "b.txt": "b.txt 0x4 state 3 size 1 none",
		"empty.md": `empty.md 0x4 state 0 size 0 "cached"`, "in.md": `in.md 0x84 state 0 size 1 "7:c"`,
	} {
		if got[name] != want {
			t.Errorf("got %s, want %s", got[name], want)
		}
	}
	if want := []string{"# a", "b", "c"}; !slices.Equal(reads, want) {
		t.Errorf("read %q, want %q", reads, want)
	}
}

func TestScanEndsWithErrorOfDerive(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"unavailable": {&abi.HostError{Code: abi.HostUnavailable, Message: "no derive function"}, "unavailable no derive function"},
		"another":     {errors.New("broken"), "failed broken"},
	} {
		t.Run(name, func(t *testing.T) {
			w, box := scanBox(t, func(config *Config) {
				config.Derive = func(context.Context, Derivation, DerivedFile) ([]byte, error) { return nil, c.err }
			})
			q := abi.Scan{Path: w.path("$W/scan"), Match: []string{"*"}, Data: "derived"}
			if got := failure(t, box.Operate(t.Context(), scanRequest(t, q))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A file that changes while it is read is read again; after that it has no data.
func TestScanRetriesChangedFile(t *testing.T) {
	for changes, want := range []string{`c.md 0x4 state 0 size 1 "c"`, `c.md 0x4 state 0 size 2 "c0"`, "c.md 0x4 state 2 size 2 none"} {
		var w world
		left := changes
		w, box := scanBox(t, func(config *Config) {
			config.Derive = func(_ context.Context, _ Derivation, file DerivedFile) ([]byte, error) {
				if left > 0 {
					left--
					if err := os.WriteFile(w.path("$W/scan/sub/c.md"), fmt.Appendf(nil, "c%0*d", changes-left, 0), 0o644); err != nil {
						t.Error(err)
					}
				}
				return file.Read()
			}
		})
		q := abi.Scan{Path: w.path("$W/scan/sub"), Match: []string{"*"}, Data: "derived"}
		entries, _ := decodeScan(t, box.Operate(t.Context(), scanRequest(t, q)))
		if got := entries[0].text(); got != want {
			t.Errorf("%d changes: got %s, want %s", changes, got, want)
		}
	}
}

func TestScanRefusals(t *testing.T) {
	w, box := scanBox(t)
	many := slices.Repeat([]string{"x"}, 17)
	for name, c := range map[string]struct {
		query abi.Scan
		want  string
	}{
		"relative":        {abi.Scan{Path: "scan"}, "invalid fs/scan: path: "},
		"outside":         {abi.Scan{Path: "$W/other"}, "failed fs/scan: "},
		"a link out":      {abi.Scan{Path: "$W/scan/out.md"}, "denied fs/scan: "},
		"a hidden file":   {abi.Scan{Path: "$W/scan/.env"}, "failed fs/scan: "},
		"a file":          {abi.Scan{Path: "$W/scan/a.md"}, "failed fs/scan: "},
		"depth":           {abi.Scan{Path: "/", Depth: 33}, "invalid fs/scan: depth: 33 is out of range: write 1 to 32"},
		"negative depth":  {abi.Scan{Path: "/", Depth: -1}, "invalid fs/scan: depth: "},
		"patterns":        {abi.Scan{Path: "/", Match: many}, "invalid fs/scan: match: there are more than 16"},
		"long pattern":    {abi.Scan{Path: "/", Skip: []string{strings.Repeat("x", 257)}}, "invalid fs/scan: skip: "},
		"malformed":       {abi.Scan{Path: "/", Skip: []string{"[a"}}, "invalid fs/scan: skip: "},
		"data":            {abi.Scan{Path: "/", Data: "md5"}, "invalid fs/scan: data: "},
		"max_file":        {abi.Scan{Path: "/", MaxFile: 16<<20 + 1}, "invalid fs/scan: max_file: "},
		"negative max":    {abi.Scan{Path: "/", Max: -1}, "invalid fs/scan: max: "},
		"negative file":   {abi.Scan{Path: "/", MaxFile: -1}, "invalid fs/scan: max_file: "},
		"unclean after":   {abi.Scan{Path: "/", After: "a//b"}, "invalid fs/scan: after: "},
		"max":             {abi.Scan{Path: "/", Max: 16<<20 + 1}, "invalid fs/scan: max: "},
		"after":           {abi.Scan{Path: "/", After: "/etc"}, "invalid fs/scan: after: "},
		"long after":      {abi.Scan{Path: "/", After: strings.Repeat("x", 8193)}, "invalid fs/scan: after: "},
		"function":        {abi.Scan{Path: "/", Function: 64}, "invalid fs/scan: function: "},
		"without derived": {abi.Scan{Path: "/", Data: "derived"}, "unavailable fs/scan: "},
	} {
		t.Run(name, func(t *testing.T) {
			c.query.Path = w.path(c.query.Path)
			if got := failure(t, box.Operate(t.Context(), scanRequest(t, c.query))); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestScanIsChargedAndCancelled(t *testing.T) {
	spent := 0
	var stop func()
	w, box := scanBox(t, func(c *Config) {
		c.Spend = func(_ context.Context, bytes int) {
			spent += bytes
			if stop != nil {
				stop()
			}
		}
	})
	q := abi.Scan{Path: w.path("$W/scan"), Match: []string{"*"}}
	entries, _ := decodeScan(t, box.Operate(t.Context(), scanRequest(t, q)))
	if least := len(entries) * 16 << 10; spent < least || spent > 6*least {
		t.Errorf("%d entries: charged for %d bytes, want %d to %d", len(entries), spent, least, 6*least)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	stop = cancel
	if got := failure(t, box.Operate(ctx, scanRequest(t, q))); !strings.HasPrefix(got, "failed context canceled") {
		t.Errorf("got %s", got)
	}
}

// A scan fails if the names of a directory exceed the bound of memory.
func TestScanBoundsListings(t *testing.T) {
	w, box := scanBox(t)
	name := strings.Repeat("n", 240)
	dir := w.path("$W/scan/sub/many")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/first", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 8 << 20 / 304 {
		if err := os.Link(dir+"/first", fmt.Sprintf("%s/%s%d", dir, name, i)); err != nil {
			t.Skip(err)
		}
	}
	if got := failure(t, box.Operate(t.Context(), scanRequest(t, abi.Scan{Path: w.path("$W/scan"), Depth: 3}))); !strings.Contains(got, "listings") {
		t.Errorf("got %s", got)
	}
}
