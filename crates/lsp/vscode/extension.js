// Starts `shardc lsp` for .mlir files, and restarts it when its settings change.

"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration("shardc");
  const server = { command: settings.get("path"), args: ["lsp", ...settings.get("arguments")] };
  client = new LanguageClient("shardc", "shardc", server, {
    documentSelector: [{ language: "mlir" }],
    initializationOptions: { inlayHints: settings.get("inlayHints") },
  });
  try {
    await client.start();
  } catch (error) {
    const open = "Open settings";
    const message = `shardc: cannot start ${server.command}: ${error.message}`;
    if ((await vscode.window.showErrorMessage(message, open)) === open) {
      vscode.commands.executeCommand("workbench.action.openSettings", "shardc.path");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  // A client that did not start cannot be stopped.
  if (running && running.isRunning()) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("shardc.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const settings = ["path", "arguments", "inlayHints"];
      if (settings.some((name) => event.affectsConfiguration(`shardc.${name}`))) {
        restart();
      }
    }),
  );
  return start();
};

exports.deactivate = stop;
