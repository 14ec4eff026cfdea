package beneath

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// record returns an entry as getdents64 does: inode, offset, length, type, name.
func record(name string, kind byte) []byte {
	b := make([]byte, 19, 19+len(name)+1)
	b[18] = kind
	b = append(append(b, name...), 0)
	binary.NativeEndian.PutUint16(b[16:], uint16(len(b)))
	return b
}

// A FUSE file system chooses what the system returns.
func TestMalformedRecordsAreRefused(t *testing.T) {
	length := func(n uint16) []byte {
		b := record("name", unix.DT_REG)
		binary.NativeEndian.PutUint16(b[16:], n)
		return b
	}
	for name, c := range map[string]struct {
		after []byte // what follows a valid record
	}{
		"a few bytes": {record("name", unix.DT_REG)[:10]}, "a short record": {record("name", unix.DT_REG)[:18]}, "a length of 0": {length(0)}, "a length without a name": {length(18)}, "a length behind the end": {length(100)},
	} {
		file, err := os.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		l := List(file)
		l.left = append(record("good", unix.DT_REG), c.after...)
		if got, err := l.Read(10); err != nil || len(got) != 1 || got[0].Name != "good" {
			t.Errorf("%s: got %v, %v; want the entry before it", name, got, err)
		}
		l.left = c.after
		if got, err := l.Read(10); !errors.Is(err, unix.EIO) || len(got) > 0 {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestRecordsHaveTypes(t *testing.T) {
	d, _ := newDir(t)
	file, _, err := d.Open(".", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	l := List(file)
	for _, c := range []struct {
		name string
		kind byte
	}{
		{"absent", unix.DT_UNKNOWN}, {".", unix.DT_DIR}, {"..", unix.DT_DIR}, {"", unix.DT_REG}, {"1", unix.DT_REG}, {"2", unix.DT_DIR}, {"3", unix.DT_LNK}, {"4", unix.DT_FIFO}, {"5", unix.DT_SOCK},
		{"6", unix.DT_BLK}, {"7", unix.DT_CHR}, {"f", unix.DT_UNKNOWN}, {"a", unix.DT_UNKNOWN}, {"link", unix.DT_UNKNOWN}, {"absent", unix.DT_UNKNOWN},
	} {
		l.left = append(l.left, record(c.name, c.kind)...)
	}
	got, err := l.Read(11)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{"1", 0}, {"2", fs.ModeDir}, {"3", fs.ModeSymlink}, {"4", fs.ModeNamedPipe}, {"5", fs.ModeSocket}, {"6", fs.ModeDevice},
		{"7", fs.ModeDevice | fs.ModeCharDevice}, {"f", 0}, {"a", fs.ModeDir}, {"link", fs.ModeSymlink},
	}
	if len(got) < len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}

func TestModeOf(t *testing.T) {
	for mode, want := range map[uint32]fs.FileMode{
		unix.S_IFREG | 0o640: 0o640, unix.S_IFDIR | 0o755: fs.ModeDir | 0o755, unix.S_IFLNK | 0o777: fs.ModeSymlink | 0o777, unix.S_IFIFO: fs.ModeNamedPipe,
		unix.S_IFSOCK: fs.ModeSocket, unix.S_IFBLK: fs.ModeDevice, unix.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice,
		unix.S_IFREG | unix.S_ISUID: fs.ModeSetuid, unix.S_IFREG | unix.S_ISGID: fs.ModeSetgid, unix.S_IFDIR | unix.S_ISVTX: fs.ModeDir | fs.ModeSticky,
	} {
		if got := modeOf(mode); got != want {
			t.Errorf("%o: got %v, want %v", mode, got, want)
		}
	}
}

func TestErrorOfListingIsReturned(t *testing.T) {
	file, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 2 {
		if got, err := List(file).Read(10); !errors.Is(err, unix.ENOTDIR) || len(got) > 0 {
			t.Errorf("a file: got %v, %v", got, err)
		}
	}
}

func TestClosedDirectoryHasNoDescriptor(t *testing.T) {
	file, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := d.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	d.Close() // has no effect: the descriptor is that of the file
	sub.Close()
	if _, err := d.Stat(); err != nil {
		t.Errorf("a directory of an open file: %v", err)
	}
	if _, err := sub.Stat(); !errors.Is(err, unix.EBADF) {
		t.Errorf("a closed directory: got %v", err)
	}
}
