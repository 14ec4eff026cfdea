package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// version is the version of the stored files. Files of other versions are made again from the log.
const version = 1

const (
	stateFile = "state.json"
	lockFile  = "lock"
	usesPart  = "uses" // name of the part with the last uses; the others are named by their days
	maxFile   = 128 << 20
)

// state is what names all other stored files, so that replacing it commits a change of any number of them.
type state struct {
	Version   int              `json:"version"`
	Log       string           `json:"log"`
	Positions []audit.Position `json:"positions"` // what of the log is counted
	Sequence  int64            `json:"sequence"`  // of the latest commit
	Parts     map[string]part  `json:"parts"`

	Recount    bool      `json:"recount,omitempty"`   // a part was damaged: the log is to be counted again
	Since      time.Time `json:"since,omitzero"`      // earliest record that was counted
	Until      time.Time `json:"until,omitzero"`      // latest record that was counted
	Floor      time.Time `json:"floor,omitzero"`      // what is earlier was counted before the log was changed, and is not counted again
	Written    time.Time `json:"written,omitzero"`    // when the latest of them was written
	UsesFrom   time.Time `json:"usesFrom,omitzero"`   // the last uses after this time are complete
	GrantsFrom time.Time `json:"grantsFrom,omitzero"` // since when the log has the directories and repositories that calls used
	Missed     []Span    `json:"missed,omitempty"`    // of which records may not be counted, the earliest first
	Damaged    int64     `json:"damaged,omitempty"`   // lines that were no records
	Outside    int64     `json:"outside,omitempty"`   // records that were not counted for their time
}

// Span is a time in which records may have been written and rotated out of the log before they were counted.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// maxMissed bounds the number of spans that are told apart.
const maxMissed = 64

// miss notes a span. Beyond maxMissed, the two earliest become one.
func (st *state) miss(s Span) {
	if st.Missed = append(st.Missed, s); len(st.Missed) > maxMissed {
		st.Missed[1].From = st.Missed[0].From
		st.Missed = st.Missed[1:]
	}
}

// written returns when the latest record was written, of which an earlier version noted only the beginning.
func (st *state) written() time.Time {
	if st.Until.After(st.Written) {
		return st.Until
	}
	return st.Written
}

// part is a stored file.
type part struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
}

// store is the directory of the roll-ups of one log. Its methods require the lock.
type store struct {
	dir  string
	step func(name string) error // for tests of a kill at each step; nil: none
}

// load returns the stored state. One that is absent, damaged or of a different version is empty.
func (s store) load(log string) (*state, error) {
	empty := &state{Version: version, Log: log, Parts: map[string]part{}}
	text, err := s.read(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return nil, err
	}
	st := &state{}
	if json.Unmarshal(text, st) != nil || st.Version != version || st.Log != log {
		return empty, nil
	}
	if st.Parts == nil {
		st.Parts = map[string]part{}
	}
	return st, nil
}

// damagedError reports a part that is absent or not as it was written.
type damagedError struct{ part string }

func (e *damagedError) Error() string { return "the stored part " + e.part + " is damaged" }

// part decodes a part into value, and leaves value unchanged if the state has no such part.
func (s store) part(st *state, name string, value any) error {
	p, ok := st.Parts[name]
	if !ok {
		return nil
	}
	if filepath.Base(p.File) != p.File {
		return &damagedError{name}
	}
	text, err := s.read(p.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &damagedError{name}
	case err != nil:
		return err
	case digest(text) != p.Digest || json.Unmarshal(text, value) != nil:
		return &damagedError{name}
	}
	return nil
}

func (s store) read(name string) ([]byte, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDONLY|platform.NoFollow|platform.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return download.ReadAll(f, maxFile)
}

// commit stores the changed parts and then the state, and removes what is no longer named. A part whose value is nil is removed. If the
// process is killed at any time, the state is the one before or the one after, with all of its parts.
func (s store) commit(st *state, changed map[string]any) error {
	st.Sequence++
	var obsolete []string
	for name, value := range changed {
		if old, ok := st.Parts[name]; ok {
			obsolete = append(obsolete, old.File)
		}
		if value == nil {
			delete(st.Parts, name)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		p := part{File: name + "." + strconv.FormatInt(st.Sequence, 10) + ".json", Digest: digest(text)}
		if err := s.write(p.File, text); err != nil {
			return err
		}
		st.Parts[name] = p
	}
	text, err := json.Marshal(st)
	if err != nil {
		return err
	}
	if err := s.write(stateFile, text); err != nil {
		return err
	}
	return s.sweep(st, obsolete)
}

// write writes a file atomically.
func (s store) write(name string, text []byte) error {
	if s.step != nil {
		if err := s.step(name); err != nil {
			return err
		}
	}
	path := filepath.Join(s.dir, name)
	if err := atomicfile.Replace(path, text, atomicfile.Options{Mode: 0o600, SweepAge: atomicfile.LongestWrite}); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// sweep removes parts that the state does not name: obsolete ones, and now and then those that a killed process has left.
func (s store) sweep(st *state, obsolete []string) error {
	if s.step != nil {
		if err := s.step("sweep"); err != nil {
			return err
		}
	}
	if st.Sequence%64 == 1 {
		entries, err := os.ReadDir(s.dir)
		if err != nil {
			return err
		}
		named := []string{stateFile, lockFile}
		for _, p := range st.Parts {
			named = append(named, p.File)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".json") && !slices.Contains(named, e.Name()) {
				obsolete = append(obsolete, e.Name())
			}
		}
	}
	for _, name := range obsolete {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
