//go:build !linux

package main

import "os"

func typeOn(*os.File, string) {}

func pretendShell() {}

func pretendEditor() {}

func fullMain() {}
