package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"time"
)

// Position is how far a reader has read one file of a log. It identifies the file by its first line, because a rotation renames the
// file, and systems use inodes of removed files again. A first line is unique: it has a time in microseconds and the ID of a call.
type Position struct {
	Offset int64  `json:"offset"`         // of the first unread line
	Line   int    `json:"line"`           // number of lines before Offset
	Long   bool   `json:"long,omitempty"` // whether Offset is within a line that is longer than a record can be
	First  string `json:"first"`          // digest of the first line
	Before string `json:"before"`         // digest of the last bytes before Offset, at most beforeSize
}

// beforeSize is how many bytes before an offset show whether a file was replaced, shortened or edited since they were read.
const beforeSize = 4 << 10

// ErrPause is returned by a function that gets entries, to end Unread.Read after the entry.
var ErrPause = errors.New("pause")

// Unread is the part of a log that was not read before, as it was when OpenUnread was called.
type Unread struct {
	// Changed reports that what was read is no longer in the log as it was: the newest known file is absent or differs.
	Changed bool

	files []*logFile
	first []string // digests of the first lines; empty: unknown
}

// OpenUnread opens the files of a log at the positions that an earlier Unread has returned. Files without a known position are
// unread. A file with the first line of a newer one is a copy of it, such as of a program that copies the log before it truncates it, and is
// left out. The error wraps fs.ErrNotExist if there is no file.
func OpenUnread(path string, known []Position) (*Unread, error) {
	files, err := openLogFiles(path)
	if err != nil {
		return nil, err
	}
	u := &Unread{Changed: len(known) > 0}
	if err := u.add(files); err != nil {
		closeAll(files)
		return nil, err
	}
	byFirst := map[string]Position{}
	for _, p := range known {
		byFirst[p.First] = p
	}
	differs := false
	for i, f := range u.files {
		p, ok := byFirst[u.first[i]]
		if !ok || u.first[i] == "" {
			continue
		}
		before, err := f.before(p.Offset)
		if err != nil {
			return nil, errors.Join(err, u.Close())
		}
		if before != p.Before {
			differs = true
			continue
		}
		f.offset, f.line, f.long = p.Offset, p.Line, p.Long
		if p.First == known[len(known)-1].First {
			u.Changed = false
		}
	}
	u.Changed = u.Changed || differs
	return u, nil
}

// add adds the files that are no copies.
func (u *Unread) add(files []*logFile) error {
	for _, f := range slices.Backward(files) {
		first, err := f.firstLine()
		if err != nil {
			return err
		}
		if first != "" && slices.Contains(u.first, first) {
			f.Close()
			continue
		}
		u.files, u.first = append(u.files, f), append(u.first, first)
	}
	slices.Reverse(u.files)
	slices.Reverse(u.first)
	return nil
}

// Close closes the files.
func (u *Unread) Close() error {
	closeAll(u.files)
	return nil
}

// Restart makes all of the log unread.
func (u *Unread) Restart() {
	for _, f := range u.files {
		f.rewind()
	}
}

// Size returns the number of unread bytes. A last line without a line feed, which may still be written, counts.
func (u *Unread) Size() int64 {
	n := int64(0)
	for _, f := range u.files {
		n += f.end - f.offset
	}
	return n
}

// Earliest returns the earliest time of a first entry of the files, read or not, and when the earliest of them was written; zero if there is
// no entry. It looks for one in about the first limit bytes of each file.
func (u *Unread) Earliest(limit int64) (earliest, written time.Time, err error) {
	for _, f := range u.files {
		begin := logFile{File: f.File, info: f.info, end: f.end}
		err := begin.read(min(f.end, limit), func(e Entry) error {
			if earliest.IsZero() || e.Time.Before(earliest) {
				earliest = e.Time
			}
			if at := e.Written(); written.IsZero() || at.Before(written) {
				written = at
			}
			return ErrPause
		}, func(Damage) {})
		if err != nil && !errors.Is(err, ErrPause) {
			return earliest, written, err
		}
	}
	return earliest, written, nil
}

// Read reads unread lines, the oldest file first, until yield returns ErrPause or about limit bytes were read, and reports whether it has
// read all. It calls damaged for each line that is not a record. A last line without a line feed stays unread.
func (u *Unread) Read(limit int64, yield func(Entry) error, damaged func(Damage)) (all bool, err error) {
	for _, f := range u.files {
		begin := f.offset
		err := f.read(min(f.end, begin+limit), yield, damaged)
		if limit -= f.offset - begin; limit <= 0 && err == nil {
			err = ErrPause
		}
		switch {
		case errors.Is(err, ErrPause):
			return u.Size() == 0, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// Positions returns how far the files have been read, oldest first.
func (u *Unread) Positions() ([]Position, error) {
	var all []Position
	for i, f := range u.files {
		if f.offset == 0 {
			continue
		}
		before, err := f.before(f.offset)
		if err != nil {
			return nil, err
		}
		all = append(all, Position{Offset: f.offset, Line: f.line, Long: f.long, First: u.first[i], Before: before})
	}
	return all, nil
}

// firstLine returns the digest of the first line, or of its first MaxLine bytes; empty if the file has no whole line yet.
func (f *logFile) firstLine() (string, error) {
	for _, size := range []int64{beforeSize, MaxLine} {
		text, err := f.bytes(0, min(size, f.end))
		if err != nil {
			return "", err
		}
		if n := bytes.IndexByte(text, '\n'); n >= 0 {
			return digest(text[:n]), nil
		}
		if len(text) == MaxLine {
			return digest(text), nil
		}
	}
	return "", nil
}

// before returns the digest of the bytes before an offset; empty if the file is shorter.
func (f *logFile) before(offset int64) (string, error) {
	if offset <= 0 || offset > f.end {
		return "", nil
	}
	text, err := f.bytes(max(0, offset-beforeSize), offset)
	return digest(text), err
}

// bytes returns the bytes from begin to end, less if the file was shortened.
func (f *logFile) bytes(begin, end int64) ([]byte, error) {
	text := make([]byte, end-begin)
	n, err := f.ReadAt(text, begin)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:n], err
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
