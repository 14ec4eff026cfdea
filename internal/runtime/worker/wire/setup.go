package wire

import (
	"encoding/json"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
)

// Setup configures a worker. A file or directory that the worker inherits is the number of its descriptor; 0 means that there is none.
type Setup struct {
	Plugin string `json:"plugin"`
	Kind   string `json:"kind"` // kind of the module: see engine.Kind
	Limits Limits `json:"limits"`
	Reused bool   `json:"reused,omitempty"` // whether instances are reused without being restored

	// Commands are the tools of a module of the kind command; empty for other kinds.
	Commands command.Tools `json:"commands,omitempty"`

	Credit       int64             `json:"credit"` // memory in bytes that the worker may use for instances and calls without asking
	Code         Code              `json:"code"`
	Confine      Confine           `json:"confine"`
	Mounts       []Mount           `json:"mounts,omitempty"`
	Repos        []Repo            `json:"repos,omitempty"`
	Remotes      []string          `json:"remotes,omitempty"` // granted git remotes
	Derived      Derived           `json:"derived"`
	Held         []int             `json:"held,omitempty"` // files that stay open as long as the worker lives, for their locks
	Own          []string          `json:"own,omitempty"`  // the host's files and directories, which are hidden
	Deny         []string          `json:"deny,omitempty"` // globs of hidden paths
	Messages     bool              `json:"messages,omitempty"`
	Env          map[string]string `json:"env,omitempty"` // granted variables
	Cwd, Project string
	Zone         []byte `json:"zone,omitempty"` // the local time zone as TZif data
	HTTP         bool   `json:"http,omitempty"` // whether an origin is granted
	Asks         Asks   `json:"asks"`
	// Schemas are the output schemas that calls refer to.
	Schemas  []json.RawMessage `json:"schemas,omitempty"`
	LogLevel int8              `json:"logLevel"`
}

// Asks are the kinds of grants that the manifest requests: see sandbox.Asks.
type Asks struct{ HTTP, Git, Remotes bool }

// Limits bound the calls of a worker. See engine.Spec.
type Limits struct {
	Memory, Input, Output, Fuel int64
	OperationBytes              int // bytes of a request for an operation that the host process performs
	Time                        time.Duration
	Operations, LogSize, Files  int
	Concurrency                 int
}

// Code is a compiled module.
type Code struct {
	File string `json:"file"` // the module's path, for errors
	Dir  string `json:"dir"`  // the directory of its compiled code
	Root int    `json:"root"` // descriptor of Dir, which becomes the worker's root directory if the system allows it
}

// Derived describes the derived data of earlier workers. See derived.Handles.
type Derived struct {
	Kept  bool   `json:"kept,omitempty"` // whether the host stores new records
	Tag   []byte `json:"tag,omitempty"`
	Older int    `json:"older,omitempty"`
	Newer int    `json:"newer,omitempty"`
}

// Confine contains the limits that the worker sets for itself.
type Confine struct {
	Memory       uint64 `json:"memory"`       // value of RLIMIT_DATA, in bytes
	AddressSpace uint64 `json:"addressSpace"` // see confine.Config.AddressSpace
	Threads      uint64 `json:"threads"`
	OpenFiles    uint64 `json:"openFiles"`
}

// Mount is a granted directory.
type Mount struct {
	Path    string   `json:"path"`
	Aliases []string `json:"aliases,omitempty"` // other paths by which the module may name the directory
	Write   bool     `json:"write,omitempty"`
	State   bool     `json:"state,omitempty"`
	InGit   bool     `json:"inGit,omitempty"` // whether the directory is in a git directory, so that nothing in it can be written
	File    int      `json:"file,omitempty"`
	Staged  bool     `json:"staged,omitempty"` // whether the directory does not exist yet; OpCreate moves File to Path
	Anchors []FileID `json:"anchors,omitempty"`
}

// FileID is the identity of a file: its device and inode.
type FileID struct{ Dev, Ino uint64 }

// Repo is a granted git repository.
type Repo struct {
	Path   string `json:"path"`
	Alias  string `json:"alias,omitempty"` // another path by which the module may name the repository
	Above  string `json:"above,omitempty"` // top level of the repository that contains Path, if it is above Path
	Write  bool   `json:"write,omitempty"`
	Commit bool   `json:"commit,omitempty"` // whether the index and the current branch may be changed; never without Write
	File   int    `json:"file,omitempty"`
}
