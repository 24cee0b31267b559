//go:build !linux

package workspace

import (
	"os"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// stamp would tell whether a directory is as it was.
type stamp struct{}

func stampOf(*os.File) stamp { return stamp{} }

func (stamp) settled(time.Time) bool { return false }

func (stamp) still(string) bool { return false }

func inodeOf(*os.File) sandbox.Inode { return sandbox.Inode{} }

func inodeAt(string) sandbox.Inode { return sandbox.Inode{} }
