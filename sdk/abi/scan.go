package abi

// Scan lists a directory, and directories below it, with the stat data of each entry and the data of files. Path is the
// absolute path of a directory. Names are matched by patterns of path.Match.
type Scan struct {
	Path     string   `json:"path"`
	Depth    int      `json:"depth,omitempty"`    // levels of directories to list, at most MaxScanDepth; 0: 1
	Match    []string `json:"match,omitempty"`    // patterns for the base names of files whose data is wanted; if empty, no data is returned
	Skip     []string `json:"skip,omitempty"`     // patterns for the base names of directories that are not listed
	Follow   bool     `json:"follow,omitempty"`   // describe symbolic links by their targets
	Data     string   `json:"data,omitempty"`     // one of ScanData…; "": ScanDataContent
	Function uint32   `json:"function,omitempty"` // index of the derive function, for ScanDataDerived; less than MaxScanFunctions
	MaxFile  int64    `json:"max_file,omitempty"` // bytes of the largest file whose data is wanted; 0: MaxScanContent, or MaxScanInput for ScanDataDerived
	Max      int64    `json:"max,omitempty"`      // bytes of an answer, at most MaxScanAnswer; 0: ScanAnswer
	After    string   `json:"after,omitempty"`    // relative path of the last entry of the previous answer
}

// Data of files in a scan.
const (
	ScanDataContent = "content" // the content
	ScanDataDerived = "derived" // what the module's derive function returns for the content
	ScanDataSHA256  = "sha256"  // the 32 bytes of the content's SHA-256
)

// Limits of a Scan.
const (
	MaxScanDepth     = 32
	MaxScanPatterns  = 16       // patterns in Match, and in Skip
	MaxScanPattern   = 256      // bytes of a pattern
	MaxScanFunctions = 64       // derive functions of a module
	MaxScanContent   = 16 << 20 // bytes of a file
	MaxScanInput     = 4 << 20  // bytes of a file, with ScanDataDerived
	MaxScanDerived   = 1 << 20  // bytes of derived data of a file
	ScanAnswer       = 4 << 20  // bytes of an answer, unless Max is set
	MaxScanAnswer    = 16 << 20 // bytes of an answer
)

// The answer to a Scan begins with ScanHeader bytes: ScanVersion (a byte with which no JSON text begins), the flags as
// a byte, two zero bytes, and the number of entries as a uint32. Then the entries follow. Each entry has ScanEntry
// bytes, then its path relative to Scan.Path, then its data. The ScanEntry bytes are the length of the data as a
// uint32, the length of the path as a uint16, kind and state as a byte each, size and modification time in nanoseconds
// as an int64 each. Integers are little-endian.
const (
	ScanVersion = 1
	ScanMore    = 1          // flag: there are more entries
	ScanOmits   = 2          // flag: entries are left out, because their names are not UTF-8
	ScanHeader  = 8          // bytes
	ScanEntry   = 24         // bytes
	ScanNone    = 0xffffffff // the length of the data of an entry without data
)

// Kinds of an entry of a Scan. If Scan.Follow is set, a symbolic link has the kind of its target plus the bit
// ScanLinked.
const (
	ScanOther     = 0
	ScanDirectory = 3
	ScanRegular   = 4
	ScanLink      = 7
	ScanLinked    = 0x80
)

// States of an entry of a Scan.
const (
	ScanOK         = 0 // the data is present, or was not wanted
	ScanTooLarge   = 1 // the file is larger than MaxFile
	ScanUnreadable = 2 // the file or directory cannot be read, or it was changed while it was read
	ScanFailed     = 3 // the derive function failed
	ScanDangling   = 4 // the target of a symbolic link does not exist in the module's tree (with Follow)
)
