#!/usr/bin/env node
'use strict'

// sharp, the file system and DNS share libuv's pool of threads. Node 20 has made it before it runs a module, so that
// the size has to be set by a script.
process.env.UV_THREADPOOL_SIZE ??= '16'

import('./bin.js')
