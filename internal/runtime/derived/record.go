package derived

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// SHA256 is the value of Key.Function for the SHA-256 of a file.
const SHA256 = ^uint32(0)

// maxFunctions is the number of derive functions that a module may have.
const maxFunctions = 64

// maxData is the maximum size of the data of one file, in bytes.
const maxData = 1 << 20

// Key identifies the result of a function on one version of a file. Times are in nanoseconds since 1970.
type Key struct {
	Function     uint32 // number of the module's function, or SHA256
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64
}

// Tag identifies the plugin, module and grants that records belong to; see TagOf.
type Tag [sha256.Size]byte

// A file consists of a header (magic and the Tag) and records. A record is a head and the data. The head, little-endian:
//
//	0  u32 CRC-32C of the rest of the head and the data
//	4  u32 length of the data
//	8  the Key: u32 function, u64 device, u64 inode, i64 size, i64 mtime, i64 ctime
const (
	// magic contains a version number. Increment it if the format changes, or if the environment of derive functions
	// changes in a way that changes their results.
	magic      = "bulkhead derived 1\n"
	headerSize = len(magic) + len(Tag{})
	headSize   = 52
)

// MaxRecord is the maximum size of an encoded record, in bytes.
const MaxRecord = headSize + maxData

// errDamaged is wrapped by the errors of readRecords for invalid content, which an intact host never writes.
var errDamaged = errors.New("damaged")

func header(tag Tag) []byte { return append([]byte(magic), tag[:]...) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends the encoded record to b.
func appendRecord(b []byte, k Key, data []byte) []byte {
	begin := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, k.Function)
	for _, v := range [...]uint64{k.Dev, k.Ino, uint64(k.Size), uint64(k.Mtime), uint64(k.Ctime)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, data...)
	binary.LittleEndian.PutUint32(b[begin:], crc32.Checksum(b[begin+4:], castagnoli))
	return b
}

// readRecords reads a file, and passes its records to put in the order in which they were written. The content is
// untrusted: a worker that was compromised may have chosen it. The error wraps errDamaged if the content is invalid. The end
// of the file in the middle of a record is no error: another host may be writing it.
func readRecords(from io.Reader, tag Tag, put func(Key, []byte)) error {
	in := bufio.NewReaderSize(from, 64<<10)
	begin, err := in.Peek(headerSize)
	switch {
	case err == io.EOF && len(begin) == 0:
		return nil
	case err != nil && err != io.EOF:
		return err
	case string(begin) != string(header(tag)):
		return fmt.Errorf("%w: the header has a different version or tag", errDamaged)
	}
	_, _ = in.Discard(headerSize) // cannot fail: Peek has read these bytes
	for {
		head, err := in.Peek(headSize)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		k, length := decodeHead(head)
		sum := binary.LittleEndian.Uint32(head)
		check := crc32.Checksum(head[4:], castagnoli)
		if !k.valid(length) {
			return fmt.Errorf("%w: invalid record", errDamaged)
		}
		_, _ = in.Discard(headSize) // cannot fail: Peek has read these bytes
		data := make([]byte, length)
		if _, err := io.ReadFull(in, data); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		if crc32.Update(check, castagnoli, data) != sum {
			return fmt.Errorf("%w: wrong checksum", errDamaged)
		}
		put(k, data)
	}
}

func decodeHead(head []byte) (k Key, length int64) {
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at:]) }
	return Key{
		Function: binary.LittleEndian.Uint32(head[8:]), Dev: u64(12), Ino: u64(20),
		Size: int64(u64(28)), Mtime: int64(u64(36)), Ctime: int64(u64(44)),
	}, int64(binary.LittleEndian.Uint32(head[4:]))
}

// valid reports whether a key can have a result of the given length.
func (k Key) valid(length int64) bool {
	if k.Function == SHA256 {
		return length == sha256.Size && k.Size >= 0
	}
	return k.Function < maxFunctions && length <= maxData && k.Size >= 0
}
