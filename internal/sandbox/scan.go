package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Derivation is a kind of derived data: the digest of the content, or the result of one of the module's derive functions.
type Derivation struct {
	Function uint32
	SHA256   bool
}

// DerivedFile is a file whose derived data is wanted. Read returns the content of the version that Stat describes. The
// content is valid until Derive returns. If Read fails, Derive must return its error. Open opens the file, so that its
// file system can be determined; by then the path may refer to a different file.
type DerivedFile struct {
	Stat beneath.Stat
	Open func() (*os.File, error)
	Read func() (content []byte, err error)
}

// ErrDerive means that a derive function failed on the content of a file.
var ErrDerive = errors.New("the derive function failed")

// maxAfter bounds a path relative to a scanned directory, in bytes.
const maxAfter = abi.MaxScanDepth * 256

// scan lists directories with the stat data of their entries and the data of files, subject to the same policy as the
// module's own file operations.
func (b *Box) scan(ctx context.Context, q abi.Scan) (any, error) {
	if err := b.checkScan(&q); err != nil {
		return nil, err
	}
	a := newScanAnswer(b, ctx, q)
	asked := scanner{operationCaller{ctx: operating(ctx)}, a.spend}
	options := vfs.Scan{
		Depth: q.Depth, Follow: q.Follow, After: q.After, Omit: func() { a.omits = true },
		Enter: func(name string) bool { return !a.matches(q.Skip, name) },
	}
	errno := b.tree(&asked, "", new(denials)).Scan(q.Path, options, a.add)
	switch {
	case a.err != nil:
		return nil, a.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errno != 0:
		return nil, fileError(abi.OpFSScan, q.Path, errno, asked.last)
	}
	return a.finish(), nil
}

// scanner is the Caller of a scan, which is charged for.
type scanner struct {
	operationCaller
	spend func(bytes int)
}

func (s *scanner) Spend(bytes int) { s.spend(bytes) }

// checkScan checks parameters and sets defaults. Nothing is clamped.
func (b *Box) checkScan(q *abi.Scan) error {
	q.Depth = cmp.Or(q.Depth, 1)
	q.Data = cmp.Or(q.Data, abi.ScanDataContent)
	q.Max = cmp.Or(q.Max, abi.ScanAnswer)
	largest := int64(abi.MaxScanContent)
	if q.Data == abi.ScanDataDerived {
		largest = abi.MaxScanInput
	}
	q.MaxFile = cmp.Or(q.MaxFile, largest)
	switch {
	case !path.IsAbs(q.Path):
		return invalidScan("path: %q is not an absolute path", bounded(q.Path))
	case q.Depth < 0 || q.Depth > abi.MaxScanDepth:
		return invalidScan("depth: %d is out of range: write 1 to %d", q.Depth, abi.MaxScanDepth)
	case q.Max < 0 || q.Max > abi.MaxScanAnswer:
		return invalidScan("max: %d is out of range: write 1 to %d", q.Max, abi.MaxScanAnswer)
	case q.MaxFile < 0 || q.MaxFile > largest:
		return invalidScan("max_file: %d is out of range: write 1 to %d", q.MaxFile, largest)
	case !slices.Contains([]string{abi.ScanDataContent, abi.ScanDataDerived, abi.ScanDataSHA256}, q.Data):
		return invalidScan("data: %q is not content, derived or sha256", bounded(q.Data))
	case q.Function >= abi.MaxScanFunctions:
		return invalidScan("function: %d is out of range: write 0 to %d", q.Function, abi.MaxScanFunctions-1)
	case len(q.After) > maxAfter || q.After != "" && (path.IsAbs(q.After) || path.Clean(q.After) != q.After):
		return invalidScan("after: %q is not the path of an entry", bounded(q.After))
	case q.Data == abi.ScanDataDerived && b.config.Derive == nil:
		return &abi.HostError{Code: abi.HostUnavailable, Message: "fs/scan: this host has no derived data"}
	}
	return errors.Join(checkPatterns("match", q.Match), checkPatterns("skip", q.Skip))
}

func checkPatterns(member string, patterns []string) error {
	if len(patterns) > abi.MaxScanPatterns {
		return invalidScan("%s: there are more than %d patterns", member, abi.MaxScanPatterns)
	}
	for _, p := range patterns {
		if len(p) > abi.MaxScanPattern {
			return invalidScan("%s: a pattern has more than %d bytes", member, abi.MaxScanPattern)
		}
		if _, err := path.Match(p, ""); err != nil {
			return invalidScan("%s: %q is not a valid pattern", member, bounded(p))
		}
	}
	return nil
}

func invalidScan(format string, arguments ...any) error {
	return &abi.HostError{Code: abi.HostInvalid, Message: "fs/scan: " + fmt.Sprintf(format, arguments...)}
}
