package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var sample = []File{
	{"plugin.toml", []byte("manifest = 1\n")},
	{"LICENSE", nil},
	{"bin/it.wasm", bytes.Repeat([]byte{7}, 512)},
	{"README.md", []byte("# It\n")},
}

func encode(t *testing.T, files ...File) []byte {
	t.Helper()
	data, err := Encode(files)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestArchiveDependsOnNamesAndContentsOnly(t *testing.T) {
	data := encode(t, sample...)
	sum := sha256.Sum256(data)
	// The digest is pinned: a version of the program that writes other bytes breaks every published signature.
	if got, want := hex.EncodeToString(sum[:]), "045fca499d71a216134120e5abfa92e324f535674e85db0fd91a1833be4a684d"; got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
	if again := encode(t, sample[3], sample[1], sample[0], sample[2]); !bytes.Equal(data, again) {
		t.Error("the order of the files changes the archive")
	}
	files, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{"LICENSE", []byte{}}, sample[3], sample[2], sample[0]}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
}

func TestOtherProgramsReadTheArchive(t *testing.T) {
	r := tar.NewReader(bytes.NewReader(encode(t, sample...)))
	got := map[string]string{}
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || h.Mode != 0o644 || h.Typeflag != tar.TypeReg || h.Format != tar.FormatUSTAR || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%+v: %v", h, err)
		}
		got[h.Name] = string(data)
	}
	for _, f := range sample {
		if got[f.Name] != string(f.Data) {
			t.Errorf("%s has %d bytes, want %d", f.Name, len(got[f.Name]), len(f.Data))
		}
	}
}

// foreign returns a tar that archive/tar wrote.
func foreign(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		content := strings.Repeat("x", int(h.Size))
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.Format == 0 {
			h.Format = tar.FormatUSTAR
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestParseRefusesHostileArchives(t *testing.T) {
	good := encode(t, sample...)
	edited := func(at int, b byte) []byte {
		data := bytes.Clone(good)
		data[at] = b
		return data
	}
	named := func(names ...string) (out []tar.Header) {
		for _, n := range names {
			out = append(out, tar.Header{Name: n, Typeflag: tar.TypeReg})
		}
		return out
	}
	many := make([]string, MaxFiles+1)
	for i := range many {
		many[i] = fmt.Sprintf("f%03d", i)
	}
	huge := header("bomb", 0)
	copy(huge[sizeAt:], fmt.Sprintf("%011o\x00", MaxFile+1))
	binary := header("bomb", 0)
	copy(binary[sizeAt:], "\x80\x00\x00\x00\x00\x00\x00\x7f\x00\x00\x00\x00")
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"an empty file":            {nil, "truncated"},
		"a compressed archive":     {append([]byte{0x1f, 0x8b, 8}, make([]byte, 2048)...), "neither ASCII letters"},
		"a climbing path":          {foreign(t, named("../x")...), "which leads elsewhere"},
		"a hidden climbing path":   {foreign(t, named("a/../../x")...), "which leads elsewhere"},
		"an absolute path":         {foreign(t, named("/etc/x")...), "absolute path"},
		"a path of Windows":        {foreign(t, named(`C:\x`)...), "neither ASCII letters"},
		"a stream of Windows":      {foreign(t, named("a:b")...), "neither ASCII letters"},
		"a device of Windows":      {foreign(t, named("nul.txt")...), "name of a device"},
		"a directory CON":          {foreign(t, named("con/x")...), "name of a device"},
		"a name with a dot at end": {foreign(t, named("plugin.toml.")...), "dot or a space"},
		"a hidden file":            {foreign(t, named(".bulkhead-x")...), "begins with"},
		"a name like a flag":       {foreign(t, named("-rf")...), "begins with"},
		"a name beyond ASCII":      {foreign(t, tar.Header{Name: "ä", Typeflag: tar.TypeReg, Format: tar.FormatPAX}), "PAX header"},
		"a long name":              {foreign(t, named(strings.Repeat("d/", 60)+"x")...), "prefix of its name"},
		"a duplicate":              {foreign(t, named("a", "a")...), "twice"},
		"duplicates by case":       {foreign(t, named("README.md", "readme.md")...), "upper and lower case"},
		"directories by case":      {foreign(t, named("A/x", "a/y")...), "upper and lower case"},
		"a file in a file":         {foreign(t, named("a", "a/b")...), "both a file and a directory"},
		"files out of order":       {foreign(t, named("b", "a")...), "not sorted"},
		"too many files":           {foreign(t, named(many...)...), "more than the 128 files"},
		"a directory":              {foreign(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir}), "a directory"},
		"a symbolic link":          {foreign(t, tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), "a symbolic link"},
		"a hard link":              {foreign(t, tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}), "a hard link"},
		"a character device":       {foreign(t, tar.Header{Name: "d", Typeflag: tar.TypeChar}), "a character device"},
		"a block device":           {foreign(t, tar.Header{Name: "d", Typeflag: tar.TypeBlock}), "a block device"},
		"a named pipe":             {foreign(t, tar.Header{Name: "p", Typeflag: tar.TypeFifo}), "a named pipe"},
		"a PAX header":             {foreign(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{"comment": "../x"}}), "PAX header"},
		"a GNU archive":            {foreign(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Format: tar.FormatGNU}), "not an entry of a ustar archive"},
		"a sparse file":            {edited(typeAt, 'S'), "a sparse file"},
		"an unknown type":          {edited(typeAt, 'Z'), "not a regular file"},
		"an old type":              {edited(typeAt, 0), "not a regular file"},
		"an executable file":       {foreign(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Mode: 0o4755}), "mode 0644"},
		"an owner":                 {foreign(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Uid: 1}), "owner and group 0"},
		"the name of an owner":     {foreign(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, Uname: "root"}), "name of an owner"},
		"a time":                   {foreign(t, tar.Header{Name: "a", Typeflag: tar.TypeReg, ModTime: time.Unix(1, 0)}), "modification time 0"},
		"a link target":            {edited(targetAt, 'x'), "link target"},
		"a device number":          {edited(minorAt, '1'), "device numbers"},
		"bytes after a name":       {edited(modeAt-1, 'x'), "bytes after its name"},
		"bytes after the header":   {edited(block-1, 'x'), "unused part"},
		"a wrong checksum":         {edited(checksumAt, '7'), "checksum"},
		"a size that is too large": {append(huge[:], make([]byte, end)...), "has at most"},
		"a binary size":            {append(binary[:], make([]byte, end)...), "not an octal number"},
		"a size beyond the end":    {good[:len(good)-end-block], "truncated"},
		"one zero block":           {good[:len(good)-block], "truncated"},
		"a cut block":              {good[:len(good)-1], "truncated"},
		"no end":                   {good[:len(good)-end], "truncated"},
		"bytes after the end":      {append(bytes.Clone(good), 0), "follow its end"},
		"a second archive":         {append(bytes.Clone(good), good...), "follow its end"},
		"data in the last block":   {edited(len(good)-1, 1), "follow its end"},
		"padding with data":        {edited(len(good)-end-1, 1), "padding"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Parse(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse returned %d files and the error %v, want one that contains %q", len(files), err, c.want)
			}
		})
	}
}

func TestReadIsBounded(t *testing.T) {
	r := &endless{}
	if _, err := Read(r); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("Read of endless data returned %v", err)
	}
	if r.read > MaxSize+1 {
		t.Errorf("Read read %d bytes", r.read)
	}
}

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestEncodeRefusesWhatParseRefuses(t *testing.T) {
	big := make([]byte, MaxFile+1)
	for _, c := range []struct {
		files []File
		want  string
	}{
		{[]File{{Name: "../x"}}, ".."},
		{[]File{{Name: "a"}, {Name: "b"}, {Name: "a"}}, "twice"},
		{[]File{{Name: "a", Data: big}}, "has at most"},
		{[]File{{Name: "a", Data: big[1:]}, {Name: "b", Data: big[1:]}}, "would have"},
		{make([]File, 1), "no name"},
		{[]File{{Name: strings.Repeat("x", maxName+1)}}, "at most 100"},
	} {
		if _, err := Encode(c.files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Encode returned %v, want %q", err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	data, err := Encode(sample)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[block:])
	f.Add(make([]byte, end))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := Parse(data)
		if err != nil {
			return
		}
		if again, err := Encode(files); err != nil || !bytes.Equal(again, data) {
			t.Errorf("the archive is not what Encode writes: %v", err)
		}
	})
}
