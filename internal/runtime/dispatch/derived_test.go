package dispatch_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// scanning returns a module that answers a call with 4 bytes of the derived data of note.txt, the only file of a directory. The derive
// function of the module returns the first 4 bytes of a file.
func scanning(t *testing.T, dir, data string) []byte {
	t.Helper()
	const (
		answer  = 8192 // address of the answer of fs/scan
		content = 4096 // address of the input of the derive function
		first   = answer + abi.ScanHeader + abi.ScanEntry + len("note.txt")
	)
	request, err := json.Marshal(map[string]any{"op": abi.OpFSScan, "params": abi.Scan{Path: dir, Match: []string{"*"}, Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	reply := `{"result":{"content":[{"type":"text","text":"....`
	body, at := reply+`"}]}}`, int32(len(request))
	const load, store = 0x28, 0x36
	m := wasmtest.Plugin(wasmtest.Code(
		wasmtest.I32(answer), wasmtest.Invoke(wasmtest.HostCall, 0, at), 0x10, wasmtest.HostResult,
		wasmtest.I32(at+int32(len(reply))-4), wasmtest.I32(int32(first)), load, 0, 0, store, 0, 0,
		wasmtest.Invoke(wasmtest.Output, at, int32(len(body)))), string(request)+body)
	m.Funcs = append(m.Funcs, wasmtest.Func{Name: abi.ExportDerive, Type: wasmtest.OfTwo, Code: wasmtest.Code(
		wasmtest.I32(content), 0x20, 1, 0x10, wasmtest.Input, wasmtest.Invoke(wasmtest.Output, content, 4), 0x0b)})
	return m.Bytes()
}

// deriving returns a World with the module of scanning, and with a file that is old enough for its derived data to be kept.
func deriving(t *testing.T, data string) *hosttest.World {
	t.Helper()
	w := hosttest.New(t)
	w.Write(t, hosttest.Plugin("notes", scanning(t, w.Dir+"/work/notes", data), "[[capabilities.fs]]\npath = '${project}'\naccess = 'r'\n"+hosttest.Reads("notes_list")))
	w.Write(t, hosttest.Files{"work/notes/note.txt": "abcd and more"})
	settle()
	return w
}

// settle waits until a file that was just written is old enough for its derived data to be kept.
func settle() { time.Sleep(2*time.Second + 50*time.Millisecond) }

// listed returns the text that a call in a new host returns.
func listed(t *testing.T, w *hosttest.World) string {
	t.Helper()
	h := w.Open(t, w.Options())
	answer := hosttest.Call(t, h, "notes_list", `{}`)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(answer.Result), `"text":"`)
	text, _, ok := strings.Cut(text, `"`)
	if !ok {
		t.Fatalf("got %+v", answer)
	}
	return text
}

// files returns the paths of the files that contain derived data.
func files(t *testing.T, w *hosttest.World) []string {
	t.Helper()
	names, err := filepath.Glob(derived.Dir(w.Dir+"/cache/bulkhead") + "/*.new")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// forge replaces old in the only record of a file with data of the same length.
func forge(t *testing.T, file, old, data string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(content), old) {
		t.Fatalf("%q does not end with %q", content, old)
	}
	const head = 52
	copy(content[len(content)-len(old):], data)
	record := content[len(content)-len(old)-head:]
	binary.LittleEndian.PutUint32(record, crc32.Checksum(record[4:], crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNextHostUsesDerivedData(t *testing.T) {
	testenv.NotShort(t, "waits for time limits or starts several hosts")
	w := deriving(t, abi.ScanDataDerived)
	if got := listed(t, w); got != "abcd" {
		t.Fatalf("got %q", got)
	}
	kept := files(t, w)
	if len(kept) != 1 || !strings.Contains(filepath.Base(kept[0]), "notes-") {
		t.Fatalf("kept %q", kept)
	}
	forge(t, kept[0], "abcd", "ABCD") // the forged data shows whether an answer comes from the file of derived data
	if got := listed(t, w); got != "ABCD" {
		t.Errorf("got %q", got)
	}
	w.Write(t, hosttest.Files{"work/notes/note.txt": "efgh and more"}) // the new content has the size of the old content
	if got := listed(t, w); got != "efgh" {
		t.Errorf("after a change of the file: got %q", got)
	}
	// A plugin with a different grant, or with a different module, does not get these results.
	w.Write(t, hosttest.Files{"work/notes/note.txt": "abcd and more"})
	settle()
	if got := listed(t, w); got != "abcd" {
		t.Fatalf("got %q", got)
	}
	before, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[defaults]\ndeny = [\"**/*.key\"]\n[[plugins]]\npath = \"../plugins/notes\"\n"})
	if got := listed(t, w); got != "abcd" {
		t.Fatalf("got %q", got)
	}
	if after, err := os.ReadFile(kept[0]); err != nil || string(after) != string(before) {
		t.Errorf("results of another grant were added, %v", err)
	}
	if all := files(t, w); len(all) != 2 {
		t.Errorf("kept %q", all)
	}
}

// The digest of a file is binary, so the test examines only what is kept.
func TestDigestsOfFilesAreKept(t *testing.T) {
	testenv.NotShort(t, "waits for time limits or starts several hosts")
	w := deriving(t, abi.ScanDataSHA256)
	h := w.Open(t, w.Options())
	hosttest.Call(t, h, "notes_list", `{}`)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept := files(t, w)
	if len(kept) != 1 {
		t.Fatalf("kept %q", kept)
	}
	content, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256([]byte("abcd and more")); !bytes.HasSuffix(content, sum[:]) {
		t.Errorf("kept %q", content)
	}
}

func TestUnwritableCacheOfDerivedDataFailsNoCall(t *testing.T) {
	testenv.NotShort(t, "waits for time limits or starts several hosts")
	w := deriving(t, abi.ScanDataDerived)
	w.Write(t, hosttest.Files{"cache/bulkhead/derived": "a file"})
	if err := os.Chmod(w.Dir+"/cache/bulkhead", 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := listed(t, w); got != "abcd" {
			t.Errorf("got %q", got)
		}
	}
}
