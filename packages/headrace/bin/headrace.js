#!/usr/bin/env node
// A file that is there before the build, so that package managers can link it.
import '../lib/cli/main.js'
