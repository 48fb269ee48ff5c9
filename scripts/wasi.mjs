// Runs a program for WebAssembly with the system interface of Node.js: node scripts/wasi.mjs PROGRAM [ARGUMENT...]
//
// The program sees all files and all environment variables.
import { readFile } from "node:fs/promises";
import { argv, env } from "node:process";
import { WASI } from "node:wasi";

const [program, ...rest] = argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...rest], env, preopens: { "/": "/" } });
const module = await WebAssembly.compile(await readFile(program));
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
