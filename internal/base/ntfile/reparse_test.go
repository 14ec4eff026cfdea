package ntfile

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// reparse returns the data of a reparse point whose names begin after the header of the given length.
func reparse(tag uint32, begin int, substitute, printed string) []byte {
	a, b := utf16.Encode([]rune(substitute)), utf16.Encode([]rune(printed))
	data := make([]byte, begin)
	binary.LittleEndian.PutUint32(data, tag)
	for i, n := range []int{0, 2 * len(a), 2 * len(a), 2 * len(b)} {
		binary.LittleEndian.PutUint16(data[8+2*i:], uint16(n))
	}
	for _, unit := range append(a, b...) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return data
}

func TestTargetOf(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string // empty: refused
	}{
		"a junction":             {reparse(tagJunction, 16, `\??\C:\a`, `C:\a`), `C:\a`},
		"a symbolic link":        {reparse(tagSymlink, 20, `\??\C:\ü`, `..\ü`), `..\ü`},
		"without a printed name": {reparse(tagJunction, 16, `\??\C:\a`, ""), `\??\C:\a`},
		"another kind":           {reparse(0x80000023, 16, "a", "a"), ""},
		"truncated":              {reparse(tagSymlink, 20, "abc", "abc")[:30], ""},
		"a header only":          {reparse(tagSymlink, 20, "abc", "abc")[:9], ""},
		"nothing":                {nil, ""},
	} {
		if got, err := targetOf(c.data); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// record returns a FILE_ID_BOTH_DIR_INFO.
func record(next uint32, name []uint16) []byte {
	data := make([]byte, 104)
	binary.LittleEndian.PutUint32(data, next)
	binary.LittleEndian.PutUint32(data[60:], uint32(2*len(name)))
	for _, unit := range name {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return data
}

func TestNextEntry(t *testing.T) {
	two := append(record(112, utf16.Encode([]rune("abcd"))), record(0, []uint16{'x', 0xd800})...)
	e, rest, ok := NextEntry(two)
	if !ok || e.Name != "abcd" || len(rest) != 108 {
		t.Fatalf("got %+v, %d bytes, %v", e, len(rest), ok)
	}
	// A name that is not valid UTF-16 must not be decoded to the name of another file.
	if e, rest, ok = NextEntry(rest); !ok || rest != nil || !strings.HasSuffix(e.Name, "\xff") || CheckName(e.Name) == nil {
		t.Errorf("got %+v, %d bytes, %v", e, len(rest), ok)
	}
	for name, data := range map[string][]byte{
		"truncated": two[:103], "a name beyond the end": two[:110], "an entry before the next": record(8, nil), "one beyond the end": record(1<<20, nil),
	} {
		if e, _, ok := NextEntry(data); ok {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(reparse(tagJunction, 16, "a", "b"))
	f.Add(record(0, []uint16{'a'}))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = targetOf(data)
		for ok := true; ok && len(data) > 0; {
			before := len(data)
			if _, data, ok = NextEntry(data); ok && len(data) >= before {
				t.Fatal("NextEntry returns as many bytes as it was given")
			}
		}
	})
}
