package objects

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// looseName returns the name of a loose object in an object directory.
func looseName(dir string, h plumbing.Hash) string {
	hex := h.String()
	return path.Join(dir, hex[:2], hex[2:])
}

// findLoose reads a loose object.
func (s *Store) findLoose(h plumbing.Hash, limit int64) (object, bool, error) {
	for _, dir := range s.repo.ObjectDirs {
		f, err := dir.Root.Open(looseName(dir.Name, h))
		if repo.IsAbsent(err) {
			continue
		}
		if err != nil {
			return object{}, false, err
		}
		o, err := s.inflateLoose(f, limit)
		_ = f.Close()
		return o, err == nil, err
	}
	return object{}, false, nil
}

// inflateLoose decodes `TYPE SIZE NUL content`. The header is untrusted, so its length and the stated size are bounded.
func (s *Store) inflateLoose(f io.Reader, limit int64) (object, error) {
	var err error
	s.file.Reset(f)
	if s.zlib == nil {
		s.zlib, err = zlib.NewReader(&s.file)
	} else {
		err = s.zlib.(zlib.Resetter).Reset(&s.file, nil)
	}
	if err != nil {
		return object{}, damage(err)
	}
	var head []byte
	for one := make([]byte, 1); len(head) == 0 || head[len(head)-1] != 0; head = append(head, one[0]) {
		if _, err := io.ReadFull(s.zlib, one); err != nil {
			return object{}, damage(err)
		}
		if len(head) == 32 {
			return object{}, errors.New("damaged: no header")
		}
	}
	name, digits, _ := strings.Cut(string(head[:len(head)-1]), " ")
	kind, err := plumbing.ParseObjectType(name)
	if err != nil {
		return object{}, err
	}
	size, err := strconv.ParseUint(digits, 10, 62)
	if err != nil {
		return object{}, errors.New("damaged: no size in its header")
	}
	if size > uint64(limit) {
		return object{}, tooLarge(size, limit)
	}
	data, err := s.inflate(s.zlib, int64(size))
	return object{kind, data}, err
}

// write stores a loose object in the repository's own object directory, unless the repository already has that object. The file is synced
// under a temporary name and then renamed, so no incomplete object is ever visible.
func (s *Store) write(o object) error {
	hash := HashOf(o.kind, o.data)
	if ok, err := s.Has(hash); ok || err != nil {
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	var compressed bytes.Buffer
	z := zlib.NewWriter(&compressed)
	_, _ = fmt.Fprintf(z, "%s %d\x00", o.kind, len(o.data)) // writing to a buffer does not fail
	_, _ = z.Write(o.data)
	_ = z.Close()
	name := looseName(s.repo.InCommon("objects"), hash)
	dir := path.Dir(name)
	r := s.repo.Root
	if err := r.Handle.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return r.Explain(dir, err)
	}
	// git gc removes old files with this prefix.
	temporary := path.Join(dir, "tmp_obj_"+rand.Text()[:12])
	if err := r.Create(temporary, compressed.Bytes(), 0o444); err != nil {
		return err
	}
	if err := beneath.Rename(r.Handle, temporary, r.Handle, name); err != nil {
		_ = r.Handle.Unlink(temporary)
		return r.Explain(dir, err)
	}
	return nil
}
