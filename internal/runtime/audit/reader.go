package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Entry is a line of the log. Its strings are untrusted: the file may have been edited.
type Entry struct {
	Time       time.Time   `json:"time"`
	Kind       Kind        `json:"kind"`
	ID         string      `json:"id"`
	Parent     string      `json:"parent"`
	Plugin     string      `json:"plugin"`
	Version    string      `json:"version"` // of the plugin
	Client     string      `json:"client"`
	Principal  string      `json:"principal"`
	Table      string      `json:"table"`
	Address    string      `json:"address"`
	Project    string      `json:"project"`
	Request    string      `json:"request"`
	Method     string      `json:"method"`
	Task       string      `json:"task"`
	Config     string      `json:"config"`
	Subject    string      `json:"subject"`
	Name       string      `json:"name"`
	Tool       string      `json:"tool"`
	Via        string      `json:"via"`
	Outcome    Outcome     `json:"outcome"`
	Code       string      `json:"code"`
	Reason     string      `json:"reason"`
	Duration   int64       `json:"duration_us"`
	Fuel       uint64      `json:"fuel"`
	BytesIn    int64       `json:"bytes_in"`
	BytesOut   int64       `json:"bytes_out"`
	Shortened  int64       `json:"shortened_from"` // size of a result that the client got shortened
	Round      int         `json:"round"`
	Further    int64       `json:"further"`
	Arguments  string      `json:"arguments"` // in the form that Config.Arguments named when the line was written
	Cut        []string    `json:"cut"`       // names of truncated fields
	Operations []Operation `json:"operations"`
	LeftOut    int64       `json:"operations_left_out"`
	Grants     []UsedGrant `json:"grants"`
	// GrantsLeftOut is the number of used grants that the record does not list.
	GrantsLeftOut int64 `json:"grants_left_out"`

	Lost  int64     `json:"lost"` // number of lost records, in a line of kind KindGap
	Since time.Time `json:"since"`
	Cause string    `json:"cause"`

	Line []byte `json:"-"` // the unparsed line; valid until the next entry is read
}

// maxDuration bounds what is believed of the duration in a line.
const maxDuration = 24 * time.Hour

// Written returns when the record was written: at the end of its call, whereas Time is that of its beginning.
func (e *Entry) Written() time.Time {
	return e.Time.Add(time.Duration(min(max(0, e.Duration), maxDuration.Microseconds())) * time.Microsecond)
}

// Damage is a line that is not a record.
type Damage struct {
	File string
	Line int
	What string
}

func (d Damage) String() string { return fmt.Sprintf("%s:%d: %s", d.File, d.Line, d.What) }

// logFile is an open file of the log, with the position up to which it was read.
type logFile struct {
	*os.File
	info   fs.FileInfo
	end    int64 // size of the file when it was opened, or last read
	offset int64 // offset of the next unread byte
	line   int   // number of the last line that was read
	long   bool  // whether offset is within a line of more than MaxLine bytes, which was reported as damaged
}

func openLogFile(path string) (*logFile, error) {
	f, err := openRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &logFile{File: f, info: info, end: info.Size()}, nil
}

// read reads lines until the offset is stop or more, and calls yield for each entry and damaged for each line that is not a record. A last line
// without a line feed stays unread, as its writer may not have finished, unless it is longer than a record can be: then it is read in
// parts. The error is that of yield or of the file.
func (f *logFile) read(stop int64, yield func(Entry) error, damaged func(Damage)) error {
	lines := bufio.NewReaderSize(io.NewSectionReader(f, f.offset, f.end-f.offset), MaxLine)
	for f.offset < stop {
		text, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if !f.long {
				damaged(Damage{File: f.Name(), Line: f.line + 1, What: fmt.Sprintf("the line has more than %d bytes", MaxLine)})
			}
			f.offset, f.long = f.offset+int64(len(text)), true
			continue
		case errors.Is(err, io.EOF):
			if f.long {
				f.offset += int64(len(text))
			}
			return nil
		case err != nil:
			return fmt.Errorf("cannot read %s: %w", f.Name(), err)
		}
		f.offset += int64(len(text))
		f.line++
		if f.long { // this is its end
			f.long = false
			continue
		}
		e, what := parseEntry(text)
		if what != "" {
			damaged(Damage{File: f.Name(), Line: f.line, What: what})
			continue
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// rewind makes all of the file unread.
func (f *logFile) rewind() { f.offset, f.line, f.long = 0, 0, false }

// readNew reads the lines that were written since the last read. If the file is shorter than before, it was truncated, and
// readNew reads it from the start.
func (f *logFile) readNew(yield func(Entry) error, damaged func(Damage)) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if f.end = info.Size(); f.end < f.offset {
		f.rewind()
		damaged(Damage{File: f.Name(), Line: 1, What: "the file was truncated: records may be missing"})
	}
	return f.read(f.end, yield, damaged)
}

// incomplete reports a last line without a line feed.
func (f *logFile) incomplete(damaged func(Damage)) {
	if f.offset < f.end {
		damaged(Damage{File: f.Name(), Line: f.line + 1, What: "the line is incomplete"})
	}
}

// parseEntry parses a line. If the line is not a record, it returns the reason in fault.
func parseEntry(text []byte) (e Entry, fault string) {
	if len(bytes.TrimSpace(text)) == 0 {
		return e, "the line is empty"
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, "the line is not a record: " + err.Error()
	}
	if e.Kind == "" || e.Time.IsZero() {
		return e, "the line is not a record: time or kind is missing"
	}
	e.Line = text
	return e, ""
}
