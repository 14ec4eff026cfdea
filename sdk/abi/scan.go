package abi

// Scan asks for the entries of a directory, and of the directories below it, with stat data, and with the data of files. Path is the absolute
// path of the directory. Patterns have the syntax of path.Match.
type Scan struct {
	Path     string   `json:"path"`
	Depth    int      `json:"depth,omitempty"`    // number of levels of directories to list, at most MaxScanDepth; 0: 1
	Match    []string `json:"match,omitempty"`    // patterns for the base names of files whose data is wanted; if empty, no data is returned
	Skip     []string `json:"skip,omitempty"`     // patterns for the base names of directories that are not listed
	Follow   bool     `json:"follow,omitempty"`   // whether to describe the targets of symbolic links instead of the links
	Data     string   `json:"data,omitempty"`     // one of the constants ScanData…; empty: ScanDataContent
	Function uint32   `json:"function,omitempty"` // for ScanDataDerived: index of the derive function, less than MaxScanFunctions
	MaxFile  int64    `json:"max_file,omitempty"` // size in bytes of the largest file whose data is wanted; 0: MaxScanContent, or MaxScanInput for ScanDataDerived
	Max      int64    `json:"max,omitempty"`      // most bytes of an answer, at most MaxScanAnswer; 0: ScanAnswer
	After    string   `json:"after,omitempty"`    // relative path of the last entry in the previous answer; empty in the first request
}

// Values of Scan.Data: what the data of a file is.
const (
	ScanDataContent = "content" // the content of the file
	ScanDataDerived = "derived" // the result of the module's derive function for the content of the file
	ScanDataSHA256  = "sha256"  // the SHA-256 of the content of the file, 32 bytes
)

// Limits of a Scan.
const (
	MaxScanDepth     = 32
	MaxScanPatterns  = 16       // patterns in Match, and patterns in Skip
	MaxScanPattern   = 256      // bytes of a pattern
	MaxScanFunctions = 64       // derive functions of a module
	MaxScanContent   = 16 << 20 // bytes of the largest file whose data can be wanted
	MaxScanInput     = 4 << 20  // bytes of the largest file whose data can be wanted with ScanDataDerived
	MaxScanDerived   = 1 << 20  // bytes of the derived data of one file
	ScanAnswer       = 4 << 20  // bytes of an answer if Scan.Max is 0
	MaxScanAnswer    = 16 << 20 // highest value of Scan.Max
)

// The answer to a Scan begins with ScanHeader bytes: ScanVersion as a byte, with which no JSON text begins; the flags as a byte; two zero
// bytes; the number of entries as a uint32. The entries follow. Each consists of ScanEntry bytes, the entry's path relative to Scan.Path,
// and its data. The ScanEntry bytes are the length of the data as a uint32, the length of the path as a uint16, the kind and the state as
// a byte each, the size and the modification time in nanoseconds as an int64 each. Integers are little-endian.
const (
	ScanVersion = 1
	ScanMore    = 1          // flag: more entries follow the last one
	ScanOmits   = 2          // flag: entries are left out because their names are not UTF-8
	ScanHeader  = 8          // bytes before the first entry
	ScanEntry   = 24         // bytes of an entry before its path
	ScanNone    = 0xffffffff // length of the data of an entry that has no data
)

// Kinds of the entries of a Scan. If Scan.Follow is set, a symbolic link has the kind of its target, plus the bit ScanLinked.
const (
	ScanOther     = 0
	ScanDirectory = 3
	ScanRegular   = 4
	ScanLink      = 7
	ScanLinked    = 0x80
)

// States of the entries of a Scan.
const (
	ScanOK         = 0 // the data is present, or was not wanted
	ScanTooLarge   = 1 // the file is larger than Scan.MaxFile
	ScanUnreadable = 2 // the file or directory cannot be read, or it was changed while it was read
	ScanFailed     = 3 // the derive function failed
	ScanDangling   = 4 // with Scan.Follow: the target of a symbolic link does not exist in the module's tree
)
